import { fileURLToPath } from "node:url";
import { type ClusterOptions, type LocalCluster, startCluster } from "kube-controller-runtime/testing";

const config = (folder: string) => fileURLToPath(new URL(`../config/${folder}`, import.meta.url));

/** Where the generated manifests of the operator are. */
export const manifests = { crds: config("crd"), rbac: config("rbac"), policies: config("policy") };

/** The service account to which the generated roles are bound. */
export const operatorAccount = { namespace: "coder-system", name: "coder-k8s" };

/** A cluster with the operator's kinds, roles and admission policies. */
export function startOperatorCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  return startCluster({ ...options, manifests: Object.values(manifests), operator: operatorAccount });
}
