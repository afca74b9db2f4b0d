import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const VOLUMES = 32;
export const STORAGE_CLASS = "node";

interface Volume {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly hostPath: { readonly path: string } };
  readonly status?: { readonly phase: string };
}

/** Volumes to claim: folders in `dir` that any user in a pod may write to. */
export function volumes(dir: string): object[] {
  return Array.from({ length: VOLUMES }, (_, index) => volume(join(dir, String(index)), `node-${index}`));
}

/** Empties the volumes of deleted claims and makes them available again, like a provisioner. */
export async function freeVolumes(kubectl: (...args: string[]) => Promise<string>): Promise<void> {
  const { items } = JSON.parse(await kubectl("get", "persistentvolumes", "--output=json"));
  for (const { metadata, spec, status } of items as Volume[]) {
    if (status?.phase !== "Released") continue;
    rmSync(spec.hostPath.path, { recursive: true });
    createFolder(spec.hostPath.path);
    const patch = JSON.stringify({ spec: { claimRef: null } });
    await kubectl("patch", "persistentvolume", metadata.name, "--type=merge", `--patch=${patch}`);
  }
}

function volume(path: string, name: string): object {
  createFolder(path);
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "100Gi" },
      accessModes: ["ReadWriteOnce", "ReadWriteMany"],
      storageClassName: STORAGE_CLASS,
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path },
    },
  };
}

function createFolder(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o777);
}
