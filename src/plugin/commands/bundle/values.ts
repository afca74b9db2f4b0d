import type { ConfigMap, KubeObject, Secret, Stored } from "kube-controller-runtime";

/** What Helm keeps of its releases is large, compressed, and nothing that appears elsewhere. */
const HELM_RELEASE = "helm.sh/release.v1";
const DOCKER_CONFIG = ".dockerconfigjson";

/** Of variables and flags that are called so, a value in plain text is a secret all the same. */
const SECRET_NAME = /PASSW|SECRET|TOKEN|KEY|CREDENTIAL|PSK|DSN|CONNECTION_?URL|POSTGRES_?URL/i;

/** The values of Secrets that must appear nowhere. */
export function valuesOf(secrets: readonly Stored<Secret>[]): string[] {
  const small = secrets.filter(({ type }) => type !== HELM_RELEASE);
  return small.flatMap(({ data = {} }) =>
    Object.entries(data).flatMap(([key, value]) => {
      const text = Buffer.from(value, "base64").toString("utf8");
      return [...partsOf(text), ...(key === DOCKER_CONFIG ? registryLogins(text) : [])];
    }),
  );
}

/** Values that stand in plain text in variables, flags and ConfigMaps whose names say that they are secret. */
export function plainValuesOf(
  objects: readonly Stored<KubeObject>[],
  configMaps: readonly Stored<ConfigMap>[],
): string[] {
  const variables = [
    ...objects.flatMap((object) => variablesIn(object, "")),
    ...configMaps.flatMap(({ data = {} }) => Object.entries(data)),
  ];
  return variables.flatMap(([name, value]) => (SECRET_NAME.test(name) ? partsOf(value) : passwordsIn(value)));
}

function variablesIn(value: unknown, name: string): [string, string][] {
  if (typeof value === "string") {
    const [, flag, given] = /^--?([\w-]+)=(.+)$/s.exec(value) ?? [];
    return flag && given ? [[flag.replaceAll("-", "_"), given]] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => variablesIn(entry, name));
  const { name: variable, value: given } = value as { name?: unknown; value?: unknown };
  if (/^(env|extraEnv)$/.test(name) && typeof variable === "string" && typeof given === "string")
    return [[variable, given]];
  return Object.entries(value).flatMap(([key, below]) => variablesIn(below, key));
}

/** A secret, and what is secret in it by itself: a program may quote no more than that. */
function partsOf(text: string): string[] {
  return [text, ...passwordsIn(text)];
}

/** Passwords in URLs and in connection strings, as written and as meant. */
function passwordsIn(text: string): string[] {
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

/** What logs in at a registry, of all the registries of a pull secret. */
function registryLogins(text: string): string[] {
  try {
    const { auths = {} } = JSON.parse(text) as { auths?: Record<string, Record<string, unknown>> };
    return Object.values(auths).flatMap(({ username: _, email: __, ...secret }) =>
      Object.values(secret).filter((value) => typeof value === "string"),
    );
  } catch {
    return [];
  }
}
