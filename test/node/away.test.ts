import type { V1Node } from "@kubernetes/client-node";
import { runningNode } from "kube-controller-runtime/testing/node";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { Observer } from "./support/observer.ts";
import { CODER, Platform } from "./support/platform.ts";
import { assertTruth, nothingReady, podCondition, readyPods, type Trouble } from "./support/truth.ts";

const MINUTE = 60_000;
const CONTROL_PLANE = `codercontrolplane/${CODER}`;
const POOL = "coderprovisioner/linux";

describe.runIf(inject("place")?.coder)("pods whose node goes away", () => {
  let platform: Platform;
  let observer: Observer;
  beforeAll(async () => {
    platform = await Platform.open("away", {
      controlPlane: { replicas: 2, podDisruptionBudget: { maxUnavailable: 1 } },
      pools: { linux: { replicas: 2, terminationGracePeriodSeconds: 5 } },
    });
    observer = new Observer(platform.cluster, platform.namespace);
  });
  beforeEach(({ onTestFailed }) => onTestFailed(async () => console.error(await platform?.story())));
  afterAll(async () => {
    await observer?.[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const untilReady = async () => {
    for (const object of [CONTROL_PLANE, POOL])
      await observer.first((sample) => sample.condition(object, "Ready")?.status === "True" || undefined, {
        withinMs: 2 * MINUTE,
      });
  };

  /** Runs something while no pod finds a node. */
  const cordoned = async (run: (nodes: readonly string[]) => Promise<void>) => {
    const nodes = (await platform.cluster.list<V1Node>(["nodes"])).map(
      ({ metadata }) => metadata?.name ?? "",
    );
    await platform.cluster.kubectl(["cordon", ...nodes]);
    try {
      await run(nodes);
    } finally {
      await platform.cluster.kubectl(["uncordon", ...nodes]);
    }
    await untilReady();
  };

  const unschedulable = (object: string): Trouble => ({
    object,
    since: podCondition("PodScheduled", "False", "Unschedulable"),
    says: ["it cannot be scheduled", "unschedulable"],
  });

  /** Asks for the eviction of the pods of an object, as a drain does, and says which it was refused. */
  const drain = (nodes: readonly string[], instance: string) =>
    platform.cluster
      .kubectl([
        ...["drain", ...nodes, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=20s"],
        `--pod-selector=app.kubernetes.io/instance=${instance}`,
      ])
      .then(
        () => "",
        (error: Error) => error.message,
      );

  test("leave a pool Stalled when all its pods are evicted from a cordoned node", async () => {
    await cordoned(async (nodes) => {
      expect(await drain(nodes, "linux")).toBe("");
      await assertTruth(platform, observer, unschedulable(POOL));
      expect(observer.samples.slice(-1).map((sample) => readyPods(sample, POOL))).toEqual([0]);
    });
  });

  test("leave a control plane serving with one replica, because the budget stops the drain", async () => {
    await cordoned(async (nodes) => {
      const from = Date.now();
      expect(await drain(nodes, CODER)).toContain("disruption budget");
      await assertTruth(platform, observer, unschedulable(CONTROL_PLANE));
      for (const sample of observer.between(from, Date.now())) {
        expect(readyPods(sample, CONTROL_PLANE)).toBeGreaterThanOrEqual(1);
        expect(sample.condition(CONTROL_PLANE, "Available")).toMatchObject({ status: "True" });
      }
    });
  });

  test.runIf(process.env.LONG && inject("place")?.local)(
    "are not ready while their kubelet is away for two minutes, and everything says so",
    async () => {
      const node = (await runningNode()) ?? expect.fail("no node runs on this machine");
      const stoppedAt = Date.now();
      node.signal("kubelet", "SIGSTOP");
      try {
        for (const object of [CONTROL_PLANE, POOL])
          await assertTruth(platform, observer, {
            object,
            since: (sample, name) => (sample.at > stoppedAt ? nothingReady(sample, name) : undefined),
            says: ["its node is not responding"],
          });
        const from = Date.now();
        await observer.first(({ at }) => at > from + MINUTE || undefined, { withinMs: 2 * MINUTE });
        for (const sample of observer.between(from, Number.POSITIVE_INFINITY))
          expect(sample.condition(POOL, "Ready")).toMatchObject({ status: "False" });
      } finally {
        node.signal("kubelet", "SIGCONT");
      }
      await untilReady();
    },
  );
});
