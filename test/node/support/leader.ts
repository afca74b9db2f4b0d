import type { V1Lease, V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { type Cluster, TIME_LIMIT } from "./cluster.ts";

/** Where the chart installs the operator. */
export const OPERATOR_NAMESPACE = "coder-system";
const LEASE = "coder-k8s-controller.coder.com";

export function operatorPods(cluster: Cluster): Promise<readonly V1Pod[]> {
  const selector = "--selector=app.kubernetes.io/name=coder-k8s";
  return cluster.list<V1Pod>(["pods", `--namespace=${OPERATOR_NAMESPACE}`, selector]);
}

/** The name of the operator's pod that leads, once it is another one than `former`. */
export function untilLeader(cluster: Cluster, former = "", limit = TIME_LIMIT): Promise<string> {
  return eventually(async () => {
    const lease = await cluster.get<V1Lease>(["lease", LEASE, `--namespace=${OPERATOR_NAMESPACE}`]);
    const holder = lease.spec?.holderIdentity ?? "";
    const names = (await operatorPods(cluster)).map(({ metadata }) => metadata?.name ?? "");
    const leader = names.find((name) => holder.includes(name)) ?? "";
    expect(leader).not.toBe("");
    expect(leader).not.toBe(former);
    return leader;
  }, limit);
}

/** Deletes a pod of the operator, and does not wait for its end. */
export async function deleteOperatorPod(
  cluster: Cluster,
  name: string,
  flags: readonly string[],
): Promise<void> {
  await cluster.kubectl([
    "delete",
    "pod",
    name,
    `--namespace=${OPERATOR_NAMESPACE}`,
    "--wait=false",
    ...flags,
  ]);
}

/** Without time for it to give back its Lease. */
export const AT_ONCE = ["--grace-period=0", "--force"];
