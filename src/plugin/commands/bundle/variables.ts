import type { ConfigMap, Stored } from "kube-controller-runtime";

/** Names of variables, flags and fields whose plain-text values are treated as secrets. */
export const SECRET_NAME = /PASSW|SECRET|TOKEN|KEY|CREDENTIAL|PSK|DSN|CONNECTION_?URL|POSTGRES_?URL/i;

/** Plain-text values in variables, flags and ConfigMaps whose names mark them as secret. */
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

/** Flags whose value is the next entry. */
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

/** A secret and its secret parts: a program may quote only the password of a URL. */
export function partsOf(text: string): string[] {
  return [text, ...passwordsIn(text)];
}

/** Passwords in URLs and connection strings, encoded and decoded. */
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
