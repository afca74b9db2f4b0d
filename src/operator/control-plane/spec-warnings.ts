import { blocked } from "kube-controller-runtime";
import { accessURLOf, accessURLVariable, chosenURL, userAccessURL } from "../coderd/address.ts";
import type { ControlPlane } from "../coderd/settings.ts";
import { variableSources, variableValue } from "../workload/env-sources.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { databaseVariable } from "./references.ts";
import type { ControlPlaneResult } from "./status.ts";

/** Data directory of the built-in database. */
const BUILT_IN_DATA = "/home/coder/.config/coderv2/postgres";
const URL_FLAG = "--postgres-url";

const message = `coderd uses its built-in database and loses all data when the pod is deleted. Set ${databaseVariable} in spec.extraEnv or spec.envFrom to the URL of a PostgreSQL database.`;

/**
 * Warns if coderd stores its data in the pod. Only checked while a pod is running, because a source of the
 * URL may be missing before.
 */
export async function checkDurability(
  { controlPlane, sources }: Snapshot,
  _environment: unknown,
  isServing: boolean,
): Promise<ControlPlaneResult> {
  if (!isServing) return {};
  const found = variableValue(databaseVariable, controlPlane.pod, sources);
  const isSet = found.kind === "value" ? found.value.trim() !== "" : found.kind !== "undefined";
  return isSet || hasOtherSource(controlPlane) ? { noCondition: true } : blocked("BuiltInDatabase", message);
}

/**
 * Whether the URL comes from a source that the operator cannot read, or the built-in database is on a volume.
 */
function hasOtherSource({ pod }: ControlPlane): boolean {
  const isVariable = pod.extraEnv.some(({ name, valueFrom }) => name === databaseVariable && valueFrom);
  const isFlag = pod.extraArgs.some((argument) => argument.split("=", 1)[0] === URL_FLAG);
  return isVariable || isFlag || pod.volumeMounts.some(({ mountPath }) => holds(mountPath, BUILT_IN_DATA));
}

function holds(folder: string, path: string): boolean {
  return `${path}/`.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/**
 * Publishes the access URL, and warns if it has a different host than the exposure. Only scheme, host and
 * port are shown.
 */
export async function compareAccessURL(
  snapshot: Snapshot,
  { ports: { clusterDomain } }: Environment,
): Promise<ControlPlaneResult> {
  const { controlPlane, sources } = snapshot;
  const { exposure } = controlPlane;
  const status = { accessURL: publicOrigin(snapshot, clusterDomain) };
  const users = userAccessURL(controlPlane, sources);
  const host = users === undefined ? undefined : URL.parse(users)?.hostname;
  if (exposure.kind !== "none" && host !== undefined && host !== exposure.host.toLowerCase()) {
    const message = `CODER_ACCESS_URL sends users to host "${host}", but spec.expose serves host "${exposure.host}"; correct one of them, or remove CODER_ACCESS_URL and set spec.expose.setAccessURL.`;
    return blocked("HostDiffers", message, { status });
  }
  return { status, noCondition: true };
}

/** Undefined if coderd chooses the URL, if it is not readable, or if it comes from a Secret. */
function publicOrigin({ controlPlane, sources }: Snapshot, clusterDomain: string): string | undefined {
  if (variableSources("Secret", [accessURLVariable], controlPlane.pod).length > 0) return undefined;
  const { kind } = variableValue(accessURLVariable, controlPlane.pod, sources);
  const isOurs = controlPlane.useClusterAccessURL || chosenURL(controlPlane) !== undefined;
  if (kind !== "value" && !(kind === "undefined" && isOurs)) return undefined;
  const url = URL.parse(accessURLOf(controlPlane, sources, clusterDomain));
  return url && /^https?:$/.test(url.protocol) ? url.origin : undefined;
}
