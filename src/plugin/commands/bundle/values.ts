import type { ConfigMap, Secret, Stored } from "kube-controller-runtime";
import { ReleaseError, unpackRelease } from "../import-helm/release.ts";

const HELM_RELEASE = "helm.sh/release.v1";
const DOCKER_CONFIG = ".dockerconfigjson";

/** Of variables and flags that are called so, a value in plain text is a secret all the same. */
const SECRET_NAME = /PASSW|SECRET|TOKEN|KEY|CREDENTIAL|PSK|DSN|CONNECTION_?URL|POSTGRES_?URL/i;

/** The values of Secrets that must appear nowhere. */
export function valuesOf(secrets: readonly Stored<Secret>[]): string[] {
  return secrets.flatMap(({ type, data = {} }) =>
    Object.entries(data).flatMap(([key, value]) => {
      if (type === HELM_RELEASE) return releaseValues(value);
      const text = Buffer.from(value, "base64").toString("utf8");
      return [...partsOf(text), ...(key === DOCKER_CONFIG ? registryLogins(text) : [])];
    }),
  );
}

/** Values that stand in plain text in variables, flags and ConfigMaps whose names say that they are secret. */
export function plainValuesOf(
  objects: readonly unknown[],
  configMaps: readonly Stored<ConfigMap>[],
): string[] {
  const variables = [
    ...objects.flatMap((object) => variablesIn(object, "")),
    ...configMaps.flatMap(({ data = {} }) => Object.entries(data)),
  ];
  return variables.flatMap(([name, value]) => (SECRET_NAME.test(name) ? partsOf(value) : passwordsIn(value)));
}

/** What a Helm release was installed with: the text of the release as a whole appears nowhere else. */
function releaseValues(data: string): string[] {
  try {
    const { config, chart } = unpackRelease(data) as { config?: unknown; chart?: { values?: unknown } };
    return [config, chart?.values].flatMap((values) => [
      ...plainValuesOf([values], []),
      ...secretsBelow(values, false),
    ]);
  } catch (error) {
    if (error instanceof ReleaseError) return [];
    throw error;
  }
}

/** Texts in or below a field whose name speaks of a secret and does not end as names of objects do. */
function secretsBelow(value: unknown, isSecret: boolean): string[] {
  if (typeof value === "string") return isSecret ? partsOf(value) : passwordsIn(value);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) =>
    /(Ref|Refs|Names?|SecretKey)$/.test(key) ? [] : secretsBelow(below, isSecret || SECRET_NAME.test(key)),
  );
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
