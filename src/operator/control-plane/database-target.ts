import { ConfigMap, type Deployment, type RunContext, Secret } from "kube-controller-runtime";
import type { DatabaseTarget } from "../../coder/operator-access/access.ts";
import { DatabaseProblem } from "../../coder/operator-access/failure.ts";
import { certificates } from "../coderd/session.ts";
import type { ControlPlane } from "../coderd/settings.ts";
import { readSecretValue } from "../secret-value.ts";
import { gatherSources } from "../sources.ts";
import { controlPlaneDeployment } from "./deployment.ts";

type Reader = Pick<RunContext, "caches" | "referenced">;

/** The database as coderd's pod connects to it, with the certificates in the pod. */
export function databaseTarget(
  controlPlane: ControlPlane,
  connectionUrl: string,
  context: Reader,
): DatabaseTarget {
  return {
    connectionUrl,
    controlPlane: controlPlane.identity,
    ca: () => databaseAuthorities(controlPlane, context),
    readFile: (path) => readPodFile(controlPlane, path, context),
  };
}

async function databaseAuthorities(
  { identity, pod: { authorities } }: ControlPlane,
  context: Reader,
): Promise<string | undefined> {
  const secrets = authorities.map(({ name }) => name);
  const sources = await gatherSources(identity.namespace, { secrets }, context);
  const { ca, fault } = certificates(authorities, sources);
  if (fault) throw new DatabaseProblem("tlsFailed", fault);
  return ca;
}

async function readPodFile(
  controlPlane: ControlPlane,
  path: string,
  { referenced }: Reader,
): Promise<string | undefined> {
  const inputs = { envFromNames: new Set<string>(), clusterDomain: "" };
  const file = mountedFile(controlPlaneDeployment(controlPlane, inputs), path);
  if (!file) return undefined;
  const ref = { namespace: controlPlane.identity.namespace, name: file.name };
  if (file.kind === "ConfigMap") return (await referenced(ConfigMap).get(ref))?.data?.[file.key];
  return readSecretValue(await referenced(Secret).get(ref), file.key);
}

/** A file in a pod from a Secret or a ConfigMap. */
interface MountedFile {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
  readonly key: string;
}

/** The object and key that are mounted at a path in the first container of a Deployment's pods, if any. */
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

/** The path relative to the volume's root, or `undefined` if the mount does not contain the path. */
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
