import { readFileSync } from "node:fs";
import type { ClusterAccess } from "kube-controller-runtime/testing";
import { type OperatorProcess, startOperatorProcess } from "../../lab/operator-process.ts";

const NAME = "coder-k8s";
const rbac = (file: string) => readFileSync(new URL(`../../config/rbac/${file}`, import.meta.url), "utf8");
const role = rbac("namespaced/role.yaml");
/** Its Lease is in its own namespace, wherever else it works. */
const leaseRole = rbac("serviceaccount.yaml")
  .split("---\n")
  .filter((document) => /^kind: Role/m.test(document))
  .join("---\n");

export interface NamespacedOperator {
  readonly process: OperatorProcess;
  /** Its unique name in the audit log. */
  readonly user: string;
}

/** Starts an operator of these namespaces alone, whose service account has the generated Role in each and nothing else. */
export async function startNamespacedOperator(
  cluster: ClusterAccess,
  namespaces: readonly [string, ...string[]],
): Promise<NamespacedOperator> {
  const [home] = namespaces;
  const { user, kubeconfig } = await cluster.createServiceAccount(home, NAME);
  const allow = async (namespace: string, manifest: string) => {
    const ofOurs = manifest.replaceAll("namespace: coder-system", `namespace: ${home}`);
    const { code, stderr } = await cluster.kubectl(["apply", "-n", namespace, "-f", "-"], ofOurs);
    if (code !== 0) throw new Error(stderr);
  };
  await allow(home, leaseRole);
  for (const namespace of namespaces) await allow(namespace, role);
  const process = await startOperatorProcess(cluster, [
    `--kubeconfig=${kubeconfig}`,
    `--namespaces=${namespaces.join(",")}`,
    `--leader-election-namespace=${home}`,
  ]);
  return { process, user };
}
