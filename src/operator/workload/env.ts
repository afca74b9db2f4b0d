import type { V1EnvFromSource, V1EnvVar } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";

export type EnvVar = Wire<V1EnvVar>;
export type EnvFromSource = Wire<V1EnvFromSource>;

/**
 * Our variables, then the user's, each name once: server-side apply refuses a list with a name twice. The
 * last definition wins, as it does in a container. It takes the place of the first, so that variables in
 * between still find it; unless it refers to variables itself, which must then stay before it.
 */
export function mergeEnv(ours: readonly EnvVar[], users: readonly EnvVar[]): EnvVar[] {
  const merged = new Map<string, EnvVar>();
  for (const variable of [...ours, ...users]) {
    if (variable.value?.includes("$(")) merged.delete(variable.name);
    merged.set(variable.name, variable);
  }
  return [...merged.values()];
}

/**
 * Names of the variables that `envFrom` defines, as far as anybody asks for them. A variable in `env` beats
 * one of the same name from `envFrom`, so a default of ours must stay out where the user has one there.
 */
export type EnvFromNames = ReadonlySet<string>;

/** Where an environment variable would come from, should the object have that key. */
export interface EnvFromKey {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
  readonly key: string;
}

/**
 * The places where `envFrom` may define `variable`, the one that wins first: a later source overrides an
 * earlier one. A source with a prefix defines the variable by the key without that prefix.
 */
export function envFromKeys(variable: string, sources: readonly EnvFromSource[]): EnvFromKey[] {
  return sources.flatMap((source) => envFromKey(variable, source)).reverse();
}

function envFromKey(variable: string, { prefix = "", secretRef, configMapRef }: EnvFromSource): EnvFromKey[] {
  const key = variable.slice(prefix.length);
  if (!variable.startsWith(prefix) || key === "") return [];
  if (secretRef?.name) return [{ kind: "Secret", name: secretRef.name, key }];
  if (configMapRef?.name) return [{ kind: "ConfigMap", name: configMapRef.name, key }];
  return [];
}

/** Whether the user sets the variable, be it directly or through `envFrom`. */
export function isUsersOwn(
  variable: string,
  extraEnv: readonly EnvVar[],
  envFromNames: EnvFromNames,
): boolean {
  return envFromNames.has(variable) || extraEnv.some(({ name }) => name === variable);
}
