import type { V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { Platform, poolOf } from "./support/platform.ts";

/** Within which what conditions say of pods agrees with the pods. */
const TRUTH_LIMIT = { withinMs: 30_000 };
/** A pod without a node is given a minute, in which a cluster may grow. */
const UNSCHEDULED_LIMIT = { withinMs: 100_000 };
const LAST_LINE = "the last line of its log";

interface Cause {
  readonly cause: string;
  readonly spec: object;
  /** What the condition says beside the name of the pod. */
  readonly says: readonly string[];
  readonly limit?: typeof TRUTH_LIMIT;
}

const CAUSES: readonly Cause[] = [
  {
    cause: "an image that can't be pulled",
    spec: { image: "localhost/nobody/has:this" },
    says: ["localhost/nobody/has:this", "can't be pulled"],
  },
  {
    cause: "a Secret that does not exist",
    spec: { extraEnv: [{ name: "A", valueFrom: { secretKeyRef: { name: "absent", key: "a" } } }] },
    says: ['container "provisioner" can\'t be started', 'secret "absent" not found'],
  },
  {
    cause: "a container that ends at once",
    spec: { command: ["sh", "-c", `echo "${LAST_LINE}" >&2; exit 7`] },
    says: ['container "provisioner"', "exit code 7", LAST_LINE],
  },
  {
    cause: "a container that ends some time after its start, again and again",
    spec: { command: ["sh", "-c", `sleep 8; echo "${LAST_LINE}" >&2; exit 9`] },
    says: ['container "provisioner"', "exit code 9", LAST_LINE],
  },
  {
    cause: "a program that is not in the image",
    spec: { command: ["/no/such/program"] },
    says: ['container "provisioner"', "/no/such/program"],
  },
  {
    cause: "no node that takes the pod",
    spec: { nodeSelector: { "example.com/none": "has-this" } },
    says: ["no node takes it"],
    limit: UNSCHEDULED_LIMIT,
  },
];

describe.runIf(inject("place")?.coder)("a pool whose real pods fail", () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await Platform.open("stalled");
    // All at once: what takes longest is to wait for a kubelet.
    for (const [index, { spec }] of CAUSES.entries())
      await platform.cluster.apply(
        poolOf(
          { namespace: platform.namespace, name: nameOf(index) },
          { ...spec, tags: { pool: nameOf(index) } },
        ),
      );
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(() => platform?.[Symbol.asyncDispose]());

  const nameOf = (index: number) => `pool-${index}`;

  const stalled = async (name: string) => {
    const args = [`coderprovisioner/${name}`, `--namespace=${platform.namespace}`];
    const { status } = await platform.cluster.get<Reported>(args);
    const find = (type: string) => status?.conditions?.find((condition) => condition.type === type);
    return { stalled: find("Stalled"), ready: find("Ready") };
  };

  test.each(CAUSES.map((each, index) => ({ ...each, name: nameOf(index) })))(
    "says so for $cause: condition, status and why name pod and cause",
    async ({ name, says, limit = TRUTH_LIMIT }) => {
      const pods = () =>
        platform.cluster.list<V1Pod>([
          ...["pods", `--namespace=${platform.namespace}`, `--selector=app.kubernetes.io/instance=${name}`],
        ]);
      await eventually(async () => {
        const [pod] = await pods();
        const { stalled: condition, ready } = await stalled(name);
        expect(condition).toMatchObject({ status: "True" });
        expect(ready).toMatchObject({ status: "False" });
        for (const part of [pod?.metadata?.name ?? "a pod", ...says])
          expect(condition?.message).toContain(part);
      }, limit);
      const why = await platform.kubectlCoder("why", `coderprovisioner/${name}`);
      for (const part of says) expect(why.out).toContain(part);
      const status = await platform.kubectlCoder("status");
      expect(status.out).toContain(name);
    },
  );

  test("goes on saying so while a container is restarted", async () => {
    const name = nameOf(CAUSES.findIndex(({ says }) => says.includes("exit code 9")));
    const restarts = async () => {
      const [pod] = await platform.cluster.list<V1Pod>([
        ...["pods", `--namespace=${platform.namespace}`, `--selector=app.kubernetes.io/instance=${name}`],
      ]);
      return pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
    };
    const before = await restarts();
    const seen = new Set<string>();
    await eventually(
      async () => {
        const { stalled: condition, ready } = await stalled(name);
        seen.add(`Stalled=${condition?.status} Ready=${ready?.status}`);
        expect(await restarts()).toBeGreaterThan(before);
      },
      { withinMs: 120_000 },
    );
    expect([...seen]).toEqual(["Stalled=True Ready=False"]);
  });
});

interface Reported {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message: string;
    }[];
  };
}
