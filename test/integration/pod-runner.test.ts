import { type Client, Pod, Secret, type Stored } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Environment } from "../../lab/pod-runner/environment.ts";
import type { Launch } from "../../lab/pod-runner/launch.ts";
import type { Container } from "../../lab/pod-runner/pod.ts";
import { PodRunner } from "../../lab/pod-runner/pod-runner.ts";
import { sharedCluster } from "../support/cluster/shared.ts";

const TIME_LIMIT = { withinMs: 20_000 };

/** Containers that do what the test says. */
class Played {
  readonly started: Environment[] = [];
  ready = true;
  end = () => {};
  stopping = Promise.withResolvers<number>();
  mayEnd = Promise.resolve();

  readonly launch: Launch = async ({ env }) => {
    this.started.push(env);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.end = resolve;
    return {
      ended,
      isReady: async () => this.ready,
      stop: async (graceMs) => {
        this.stopping.resolve(graceMs);
        await this.mayEnd;
        resolve();
      },
    };
  };
}

describe("the pod runner", () => {
  const cluster = sharedCluster();
  let person: Client;

  beforeAll(async () => {
    person = await adminClient(cluster);
  });
  const runners: PodRunner[] = [];
  afterAll(() => Promise.all(runners.map((runner) => runner[Symbol.asyncDispose]())));

  /** A namespace with a runner of its own and one pod in it. */
  async function play(container: Partial<Container> = {}) {
    const namespace = await cluster.createNamespace("pods");
    const played = new Played();
    runners.push(new PodRunner({ client: person, launch: played.launch, namespaces: [namespace] }));
    const pod: Pod = {
      metadata: { namespace, name: "web" },
      spec: {
        terminationGracePeriodSeconds: 7,
        containers: [{ name: "web", image: "example.invalid/web:1", ...container }],
      },
    };
    await person.create(Pod, pod);
    const ref = { namespace, name: "web" };
    const seen = (check: (pod: Stored<Pod>) => void) =>
      eventually(async () => check(await person.get(Pod, ref)), TIME_LIMIT);
    return { played, ref, seen };
  }

  const isReady = ({ status }: Stored<Pod>) =>
    status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  const containerStatus = ({ status }: Stored<Pod>) => status?.containerStatuses?.[0];

  test("binds a pod, runs it and reports its readiness as it changes", async () => {
    const { played, seen } = await play();
    await seen((pod) => {
      expect(isReady(pod)).toBe(true);
      expect(pod.spec?.nodeName).toBe("local");
      expect(pod.status).toMatchObject({ phase: "Running", podIP: expect.stringMatching(/^127\./) });
    });
    played.ready = false;
    await seen((pod) => expect(isReady(pod)).toBe(false));
  });

  test("names the Secret that a pod waits for, and continues when it exists", async () => {
    const variable = { name: "KEY", valueFrom: { secretKeyRef: { name: "later", key: "key" } } };
    const { played, ref, seen } = await play({ env: [variable] });
    await seen((pod) =>
      expect(containerStatus(pod)?.state?.waiting).toMatchObject({
        reason: "CreateContainerConfigError",
        message: 'Secret "later" does not exist',
      }),
    );
    const metadata = { namespace: ref.namespace, name: "later" };
    await person.create(Secret, { metadata, stringData: { key: "it is here" } });
    await seen((pod) => expect(isReady(pod)).toBe(true));
    expect(played.started).toEqual([{ KEY: "it is here" }]);
  });

  test("starts a container again that has ended, and counts", async () => {
    const { played, seen } = await play();
    await seen((pod) => expect(isReady(pod)).toBe(true));
    played.end();
    await seen((pod) => {
      expect(containerStatus(pod)).toMatchObject({ restartCount: 1, ready: true });
    });
    expect(played.started).toHaveLength(2);
  });

  test("keeps a deleted pod until its container has ended within its grace", async () => {
    const { played, ref, seen } = await play();
    const { promise, resolve: letEnd } = Promise.withResolvers<void>();
    played.mayEnd = promise;
    await seen((pod) => expect(isReady(pod)).toBe(true));
    await person.delete(Pod, ref);
    expect(await played.stopping.promise).toBe(7_000);
    await seen((pod) => expect(pod.metadata.deletionTimestamp).toBeDefined());
    letEnd();
    await eventually(() => expect(person.get(Pod, ref)).rejects.toThrow("not found"), TIME_LIMIT);
  });

  test("ends the container of a pod that was removed by force", async () => {
    const { played, ref, seen } = await play();
    await seen((pod) => expect(isReady(pod)).toBe(true));
    await person.delete(Pod, ref, { gracePeriodSeconds: 0 });
    expect(await played.stopping.promise).toBe(0);
  });
});
