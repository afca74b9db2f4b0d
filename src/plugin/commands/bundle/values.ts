import { keyOf, type Secret, type Stored } from "kube-controller-runtime";
import type { Gaps } from "../../gaps.ts";
import { releaseValues } from "./helm.ts";
import { partsOf } from "./variables.ts";

const HELM_RELEASE = "helm.sh/release.v1";
const DOCKER_CONFIG = ".dockerconfigjson";

/** The values of Secrets that must appear nowhere. A Helm release that can't be read is a line, and costs no other. */
export function valuesOf(secrets: readonly Stored<Secret>[], gaps: Pick<Gaps, "add">): string[] {
  const names = new Set(secrets.flatMap(({ metadata, data = {} }) => [metadata.name, ...Object.keys(data)]));
  return secrets.flatMap(({ type, metadata, data = {} }) => {
    if (type !== HELM_RELEASE) return Object.entries(data).flatMap(([key, value]) => valuesIn(key, value));
    try {
      return Object.values(data).flatMap((value) => releaseValues(value, names));
    } catch {
      // What it fails with might quote the release.
      gaps.add(
        `Could not read the Helm release in Secret "${keyOf(metadata)}": its values are not recognised.`,
      );
      return [];
    }
  });
}

function valuesIn(key: string, value: string): string[] {
  const text = Buffer.from(value, "base64").toString("utf8");
  return [...partsOf(text), ...(key === DOCKER_CONFIG ? registryLogins(text) : [])];
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
