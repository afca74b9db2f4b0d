import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { V1KeyToPath, V1Volume } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";
import { type Environment, MissingSourceError } from "./environment.ts";
import type { ContainerPlan } from "./launch.ts";

/** A path in the container, and the path of its content on this machine. */
export interface Mount {
  readonly inContainer: string;
  readonly onMachine: string;
}

/**
 * Writes the volumes of a container to `dir`: Secrets and ConfigMaps with their content, others as empty
 * folders. A process sees the machine's file system, so the launcher must translate paths.
 */
export async function writeVolumes(plan: ContainerPlan, dir: string): Promise<Mount[]> {
  const volumes = plan.pod.spec?.volumes ?? [];
  const folderOf = (name: string) => join(dir, "volumes", name);
  await Promise.all(volumes.map((volume) => writeVolume(volume, folderOf(volume.name), plan)));
  return (plan.container.volumeMounts ?? []).map(({ name, mountPath, subPath = "" }) => ({
    inContainer: mountPath,
    onMachine: join(folderOf(name), subPath),
  }));
}

async function writeVolume(volume: Wire<V1Volume>, folder: string, plan: ContainerPlan): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = await contentOf(volume, plan);
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode: 0o600 });
  }
}

async function contentOf({ secret, configMap }: Wire<V1Volume>, plan: ContainerPlan): Promise<Environment> {
  const source = secret ?? configMap;
  if (!source) return {};
  const kind = secret ? "Secret" : "ConfigMap";
  const name = secret?.secretName ?? configMap?.name ?? "";
  const data = await plan.sources(kind, { namespace: plan.pod.metadata.namespace ?? "", name });
  if (!data && !source.optional) throw new MissingSourceError(`${kind} "${name}" does not exist`);
  return selected(data ?? {}, source.items);
}

function selected(data: Environment, items: readonly Wire<V1KeyToPath>[] | undefined): Environment {
  if (!items) return data;
  return Object.fromEntries(items.flatMap(({ key, path }) => (data[key] ? [[path, data[key]]] : [])));
}
