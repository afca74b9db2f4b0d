import type { Deployment } from "kube-controller-runtime";

/** A file of a pod that comes from a Secret or a ConfigMap. */
export interface MountedFile {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
  readonly key: string;
}

/** The object and key behind a path in the first container of a Deployment's pods, if one is mounted there. */
export function mountedFile(deployment: Deployment, path: string): MountedFile | undefined {
  const { containers = [], volumes = [] } = deployment.spec?.template.spec ?? {};
  for (const mount of containers[0]?.volumeMounts ?? []) {
    const file = pathInVolume(mount, path);
    const volume = volumes.find(({ name }) => name === mount.name);
    if (file === undefined || !volume) continue;
    const { secret, configMap } = volume;
    const key = keyOf(file, (secret ?? configMap)?.items);
    if (secret?.secretName) return { kind: "Secret", name: secret.secretName, key };
    if (configMap?.name) return { kind: "ConfigMap", name: configMap.name, key };
  }
  return undefined;
}

/** The path below the volume's root, or `undefined` when the mount does not cover the path. */
function pathInVolume(mount: { mountPath: string; subPath?: string }, path: string): string | undefined {
  if (path === mount.mountPath) return mount.subPath;
  const folder = mount.mountPath.endsWith("/") ? mount.mountPath : `${mount.mountPath}/`;
  if (!path.startsWith(folder)) return undefined;
  const below = path.slice(folder.length);
  return mount.subPath ? `${mount.subPath}/${below}` : below;
}

function keyOf(file: string, items: { key: string; path: string }[] | undefined): string {
  return items?.find(({ path }) => path === file)?.key ?? file;
}
