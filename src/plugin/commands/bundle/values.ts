import { keyOf, type Secret, type Stored } from "kube-controller-runtime";
import type { Gaps } from "../../gaps.ts";
import { propertyOf } from "../import-helm/json.ts";
import { unpackRelease } from "../import-helm/release.ts";
import { partsOf, passwordsIn, plainValuesOf, SECRET_NAME } from "./variables.ts";

const HELM_RELEASE = "helm.sh/release.v1";
const DOCKER_CONFIG = ".dockerconfigjson";

/**
 * The values of Secrets that must not appear in the output. A Helm release that can't be read is reported as
 * a gap.
 */
export function valuesOf(secrets: readonly Stored<Secret>[], gaps: Pick<Gaps, "add">): string[] {
  const names = new Set(secrets.flatMap(({ metadata, data = {} }) => [metadata.name, ...Object.keys(data)]));
  return secrets.flatMap(({ type, metadata, data = {} }) => {
    if (type !== HELM_RELEASE) return Object.entries(data).flatMap(([key, value]) => valuesIn(key, value));
    try {
      return Object.values(data).flatMap((value) => releaseValues(value, names));
    } catch {
      // The error itself might quote the release.
      gaps.add(
        `Could not read the Helm release in Secret "${keyOf(metadata)}": its values can't be redacted.`,
      );
      return [];
    }
  });
}

function valuesIn(key: string, value: string): string[] {
  const text = Buffer.from(value, "base64").toString("utf8");
  return [...partsOf(text), ...(key === DOCKER_CONFIG ? registryLogins(text) : [])];
}

/** The credentials for all registries of a pull secret. */
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

/**
 * Fields with these names contain the name of a Secret, a key of one or a label, even if the field name
 * mentions a secret.
 */
const NAMES =
  /(names?|refs?|(topology|label|annotation|password|username)_?key|^keySecretKey|pull_?secrets?)$|^existing_?secret/i;

/** Label keys that Kubernetes defines. */
const LABEL = /^([a-z0-9-]+\.)*(kubernetes|k8s)\.io\/[\w.-]+$/;

/**
 * The secrets in the values of a Helm release, including the chart's defaults. `data` is as the API server
 * returns it. Values in `names` are names of Secrets or of their keys, not secrets. Throws if the release
 * can't be read.
 */
export function releaseValues(data: string, names: ReadonlySet<string>): string[] {
  const release = unpackRelease(data);
  const values = [propertyOf(release, "config"), propertyOf(propertyOf(release, "chart"), "values")];
  const found = [...plainValuesOf(values, []), ...values.flatMap((each) => secretsBelow(each, "plain"))];
  return found.filter((text) => !names.has(text) && !LABEL.test(text));
}

/** How the names of the parent fields classify a value. */
type Sense = "plain" | "secret" | "name";

/** Strings and numbers in or below a field whose name mentions a secret but not the name of one. */
function secretsBelow(value: unknown, sense: Sense): string[] {
  if (typeof value === "string" || typeof value === "number")
    return sense === "secret" ? partsOf(`${value}`) : passwordsIn(`${value}`);
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => secretsBelow(entry, sense));
  const isNamed = sense === "name" || "operator" in value || "effect" in value;
  return Object.entries(value).flatMap(([field, below]) => {
    if (NAMES.test(field) || (field === "key" && isNamed)) return secretsBelow(below, "name");
    return secretsBelow(below, SECRET_NAME.test(field) ? "secret" : sense);
  });
}
