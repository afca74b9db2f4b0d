import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { KUBELET_CLIENT } from "./credentials.ts";

const VOLUMES = 8;
const STORAGE_CLASS = "node";

/** What every cluster has, and this one would lack: who may ask the kubelet, and volumes to claim. */
export function furnishings(dir: string): { readonly path: string; readonly body: object }[] {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const storage = "/apis/storage.k8s.io/v1";
  return [
    { path: `${rbac}/clusterrolebindings`, body: kubeletAdmin },
    { path: `${storage}/storageclasses`, body: storageClass },
    ...Array.from({ length: VOLUMES }, (_, index) => ({
      path: "/api/v1/persistentvolumes",
      body: volume(join(dir, "volumes", String(index)), index),
    })),
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

/** A folder of the machine, which any user in a pod may write. */
function volume(path: string, index: number): object {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o777);
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `node-${index}` },
    spec: {
      capacity: { storage: "100Gi" },
      accessModes: ["ReadWriteOnce", "ReadWriteMany"],
      storageClassName: STORAGE_CLASS,
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path },
    },
  };
}
