import { blocked } from "kube-controller-runtime";
import type { ControlPlane } from "../coderd/settings.ts";
import { variableValue } from "../workload/env-sources.ts";
import type { Snapshot } from "./observe.ts";
import { databaseVariable } from "./references.ts";
import type { ControlPlaneResult } from "./status.ts";

/** Where coderd keeps the database that it starts by itself. */
const BUILT_IN_DATA = "/home/coder/.config/coderv2/postgres";
const URL_FLAG = "--postgres-url";

const message = `coderd runs on its built-in database, and all data is lost with the pod. Set ${databaseVariable} in spec.extraEnv or spec.envFrom to the URL of a PostgreSQL database.`;

/**
 * Warns while coderd keeps its data where they are lost with its pod. That is known once a pod runs: until then a
 * source of the URL may be missing.
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

/** Whether the URL comes from where the operator can't read it, or the built-in database is on a volume. */
function hasOtherSource({ pod }: ControlPlane): boolean {
  const isVariable = pod.extraEnv.some(({ name, valueFrom }) => name === databaseVariable && valueFrom);
  const isFlag = pod.extraArgs.some((argument) => argument.split("=", 1)[0] === URL_FLAG);
  return isVariable || isFlag || pod.volumeMounts.some(({ mountPath }) => holds(mountPath, BUILT_IN_DATA));
}

function holds(folder: string, path: string): boolean {
  return `${path}/`.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
