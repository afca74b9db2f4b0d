import type { RunContext } from "../../runtime/controller/controller.ts";
import { ConfigMap, Secret } from "../../runtime/kinds.ts";
import type { ObjectRef } from "../../runtime/object.ts";
import { type EnvFromKey, type EnvFromSource, envFromKeys } from "./env.ts";
import type { Identity } from "./names.ts";
import type { PodSettings } from "./pod-settings.ts";

/** An object whose pods take variables from elsewhere. */
interface WithPod {
  readonly identity: Identity;
  readonly pod: PodSettings;
}

/** The Secrets or ConfigMaps that `envFrom` names: what a controller has to refer to. */
export function envFromRefs(
  kind: EnvFromKey["kind"],
  sources: readonly EnvFromSource[],
  namespace: string | undefined,
): ObjectRef[] {
  const names = sources.map((source) => (kind === "Secret" ? source.secretRef : source.configMapRef)?.name);
  return names.filter((name) => name !== undefined).map((name) => ({ namespace, name }));
}

/** Which of the variables `envFrom` defines. A source that does not exist defines none: the pod will tell. */
export async function envFromDefines(
  variables: readonly string[],
  { identity, pod }: WithPod,
  context: RunContext,
): Promise<ReadonlySet<string>> {
  const defined = new Set<string>();
  for (const variable of variables) {
    const value = await envFromValue(variable, { identity, pod }, context);
    if (value !== undefined) defined.add(variable);
  }
  return defined;
}

/** The value that `envFrom` gives a variable, from the source that wins; `undefined` when none does. */
export async function envFromValue(
  variable: string,
  { identity, pod }: WithPod,
  context: RunContext,
): Promise<string | undefined> {
  for (const source of envFromKeys(variable, pod.envFrom)) {
    const value = await valueAt(source, identity.namespace, context);
    if (value !== undefined) return value;
  }
  return undefined;
}

async function valueAt(
  { kind, name, key }: EnvFromKey,
  namespace: string,
  { referenced }: RunContext,
): Promise<string | undefined> {
  if (kind === "ConfigMap") return (await referenced(ConfigMap).get({ namespace, name }))?.data?.[key];
  const encoded = (await referenced(Secret).get({ namespace, name }))?.data?.[key];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}
