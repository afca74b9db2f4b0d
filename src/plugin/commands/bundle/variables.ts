import type { ConfigMap, Stored } from "kube-controller-runtime";

/** Of variables, flags and fields that are called so, a value in plain text is a secret all the same. */
export const SECRET_NAME = /PASSW|SECRET|TOKEN|KEY|CREDENTIAL|PSK|DSN|CONNECTION_?URL|POSTGRES_?URL/i;

/** Values that stand in plain text in variables, flags and ConfigMaps whose names say that they are secret. */
export function plainValuesOf(
  objects: readonly unknown[],
  configMaps: readonly Stored<ConfigMap>[],
): string[] {
  const variables = [
    ...objects.flatMap(variablesIn),
    ...configMaps.flatMap(({ data = {} }) => Object.entries(data)),
  ];
  return variables.flatMap(([name, value]) => (SECRET_NAME.test(name) ? partsOf(value) : passwordsIn(value)));
}

type Variable = readonly [name: string, value: string];

function variablesIn(value: unknown): Variable[] {
  if (typeof value === "string") {
    const [, flag, given] = /^--?([\w-]+)=(.+)$/s.exec(value) ?? [];
    return flag && given ? [variableOf(flag, given)] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return [...value.flatMap(variablesIn), ...flagsIn(value)];
  const { name, value: given } = value as { name?: unknown; value?: unknown };
  const isVariable = typeof name === "string" && (typeof given === "string" || typeof given === "number");
  return [...(isVariable ? [[name, `${given}`] as const] : []), ...Object.values(value).flatMap(variablesIn)];
}

/** Flags whose values are the entries after them. */
function flagsIn(list: readonly unknown[]): Variable[] {
  return list.flatMap((entry, at) => {
    const [, flag] = (typeof entry === "string" && /^--?([\w-]+)$/.exec(entry)) || [];
    const given = list[at + 1];
    return flag && typeof given === "string" && !given.startsWith("--") ? [variableOf(flag, given)] : [];
  });
}

function variableOf(flag: string, given: string): Variable {
  return [flag.replaceAll("-", "_"), given];
}

/** A secret, and what is secret in it by itself: a program may quote no more than that. */
export function partsOf(text: string): string[] {
  return [text, ...passwordsIn(text)];
}

/** Passwords in URLs and in connection strings, as written and as meant. */
export function passwordsIn(text: string): string[] {
  const patterns = [/:\/\/[^\s/:@]*:([^\s/]+)@/g, /\bpassword=([^\s;&]+)/gi];
  const found = patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, password = ""]) => password),
  );
  return found.flatMap((password) => [password, decoded(password)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
