import { fileURLToPath } from "node:url";
import { type ClusterOptions, type LocalCluster, startCluster } from "kube-controller-runtime/testing";

const config = (folder: string) => fileURLToPath(new URL(`../config/${folder}`, import.meta.url));

/** The generated manifests of the operator. */
export const manifests = { crds: config("crd"), rbac: config("rbac"), policies: config("policy") };

/** The service account of the generated role bindings. */
export const operatorAccount = { namespace: "coder-system", name: "coder-k8s" };

/** A cluster with the operator's kinds, roles and admission policies. */
export function startOperatorCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  return startCluster({ ...options, manifests: Object.values(manifests), operator: operatorAccount });
}
