import type { V1EnvFromSource, V1EnvVar } from "@kubernetes/client-node";
import type { Wire } from "kube-controller-runtime";

export type EnvVar = Wire<V1EnvVar>;
export type EnvFromSource = Wire<V1EnvFromSource>;

/**
 * Variables of the operator, followed by those of the user, each name once, because server-side apply rejects
 * duplicates. The last definition applies, as in a container. It takes the position of the first one, so that
 * variables in between can refer to it, unless it refers to variables itself and must come after them.
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
 * Names of the variables that `envFrom` defines, if they are relevant. `env` takes precedence over `envFrom`,
 * so the operator must not set a default that the user sets there.
 */
export type EnvFromNames = ReadonlySet<string>;

/** The object and key that would define an environment variable. */
export interface EnvFromKey {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
  readonly key: string;
}

/**
 * Sources in `envFrom` that may define `variable`, in order of precedence: later sources override earlier
 * ones. A source with a prefix defines the variable by the key without the prefix.
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

/** Whether the user sets the variable, directly or through `envFrom`. */
export function isSetByUser(
  variable: string,
  extraEnv: readonly EnvVar[],
  envFromNames: EnvFromNames,
): boolean {
  return envFromNames.has(variable) || extraEnv.some(({ name }) => name === variable);
}
