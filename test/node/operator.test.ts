import { readdirSync, readFileSync } from "node:fs";
import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { describe, expect, inject, test } from "vitest";
import { Cluster, TIME_LIMIT } from "./support/cluster.ts";
import {
  AT_ONCE,
  deleteOperatorPod,
  OPERATOR_NAMESPACE,
  operatorPods,
  untilLeader,
} from "./support/leader.ts";
import { helm, installOperator, rolledOut } from "./support/operator.ts";

describe.runIf(inject("place"))("the operator from the chart, in its image", () => {
  const cluster = () => new Cluster();

  const pods = () => operatorPods(cluster());

  /** Runs JavaScript in the operator's container, which has no shell. */
  async function evaluate(pod: string, code: string): Promise<string> {
    const target = ["exec", `--namespace=${OPERATOR_NAMESPACE}`, pod, "--", "/nodejs/bin/node", "-p", code];
    return (await cluster().kubectl(target)).trim();
  }

  test("runs both replicas after the README's command, ready and without a restart", async () => {
    const statuses = (await pods()).flatMap(({ status }) => status?.containerStatuses ?? []);
    expect(statuses.map(({ ready, restartCount }) => ({ ready, restartCount }))).toEqual([
      { ready: true, restartCount: 0 },
      { ready: true, restartCount: 0 },
    ]);
  });

  test("is not root and cannot write to its own file system", async () => {
    const [pod] = await pods();
    const name = pod?.metadata?.name ?? "";
    expect(await evaluate(name, "process.getuid()")).not.toBe("0");
    const attempt = "try { require('fs').writeFileSync('/app/file', ''); 'written' } catch (e) { e.code }";
    expect(await evaluate(name, attempt)).toBe("EROFS");
  });

  test.each([
    { how: "in order", flags: [], withinMs: 15_000 },
    // The Lease may have to expire.
    { how: "without grace", flags: AT_ONCE, withinMs: 40_000 },
  ])("hands over when the leader's pod is deleted $how", async ({ flags, withinMs }) => {
    const former = await untilLeader(cluster());
    await deleteOperatorPod(cluster(), former, flags);
    await untilLeader(cluster(), former, { withinMs });
    await rolledOut(cluster().place);
  });

  test.runIf(process.env.LONG && inject("place")?.local)(
    "loses a replica that stands still: the pod is unready, and its container is started again",
    async () => {
      const [pod] = await pods();
      const name = pod?.metadata?.name ?? "";
      const status = async () => {
        const found = await cluster().get<V1Pod>(["pod", name, `--namespace=${OPERATOR_NAMESPACE}`]);
        return found.status?.containerStatuses?.[0];
      };
      for (const pid of processesOf(await status())) process.kill(pid, "SIGSTOP");
      await eventually(
        async () => expect(await status()).toMatchObject({ ready: false, restartCount: 0 }),
        TIME_LIMIT,
      );
      // Three probes in a row, and then the grace period.
      await eventually(async () => expect(await status()).toMatchObject({ ready: true, restartCount: 1 }), {
        withinMs: 180_000,
      });
    },
  );

  test("is upgraded and uninstalled by helm, and its pods go", async () => {
    const { place } = cluster();
    await helm(
      place,
      "helm upgrade coder-k8s charts/coder-k8s --namespace coder-system --reset-then-reuse-values --set logLevel=debug",
    );
    await rolledOut(place);
    const [pod] = await pods();
    expect(pod?.spec?.containers[0]?.args?.join(" ")).toContain("debug");
    await helm(place, "helm uninstall coder-k8s --namespace coder-system --wait");
    await eventually(async () => expect(await pods()).toEqual([]), TIME_LIMIT);
    await installOperator(place);
  });
});

/** The processes of a container on this machine, by their cgroup. */
function processesOf(status: V1ContainerStatus | undefined): number[] {
  const id = status?.containerID?.split("//").at(-1) ?? expect.fail("the container does not run");
  const all = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  return all.filter((pid) => cgroupsOf(pid).includes(id)).map(Number);
}

function cgroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
