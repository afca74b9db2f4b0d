import { readFileSync } from "node:fs";
import type { ClusterAccess } from "./cluster/access.ts";
import { type OperatorProcess, startOperatorProcess } from "./operator-process.ts";

const NAME = "coder-k8s";
const role = readFileSync(new URL("../../config/rbac/namespaced/role.yaml", import.meta.url), "utf8");

export interface NamespacedOperator {
  readonly process: OperatorProcess;
  /** As the audit log names it: nobody else has this name. */
  readonly user: string;
}

/** Starts an operator of these namespaces alone, whose service account has the generated Role in each and nothing else. */
export async function startNamespacedOperator(
  cluster: ClusterAccess,
  namespaces: readonly [string, ...string[]],
): Promise<NamespacedOperator> {
  const [home] = namespaces;
  const { user, kubeconfig } = await cluster.createServiceAccount(home, NAME);
  const roleOfOurs = role.replace("namespace: coder-system", `namespace: ${home}`);
  for (const namespace of namespaces) {
    const { code, stderr } = await cluster.kubectl(["apply", "-n", namespace, "-f", "-"], roleOfOurs);
    if (code !== 0) throw new Error(stderr);
  }
  const process = await startOperatorProcess(cluster, [
    `--kubeconfig=${kubeconfig}`,
    `--namespaces=${namespaces.join(",")}`,
    `--leader-election-namespace=${home}`,
  ]);
  return { process, user };
}
