import { join } from "node:path";
import { KUBELET_CLIENT } from "./credentials.ts";
import { STORAGE_CLASS, volumes } from "./volumes.ts";

/** Objects that every cluster has: access to the kubelet, and volumes. */
export function baseObjects(dir: string): { readonly path: string; readonly body: object }[] {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const storage = "/apis/storage.k8s.io/v1";
  return [
    { path: `${rbac}/clusterrolebindings`, body: kubeletAdmin },
    { path: `${storage}/storageclasses`, body: storageClass },
    ...volumes(join(dir, "volumes")).map((body) => ({ path: "/api/v1/persistentvolumes", body })),
  ];
}

const kubeletAdmin = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "kube-apiserver-kubelet-client" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:kubelet-api-admin" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: KUBELET_CLIENT }],
};

const storageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: STORAGE_CLASS, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: "kubernetes.io/no-provisioner",
  volumeBindingMode: "Immediate",
};
