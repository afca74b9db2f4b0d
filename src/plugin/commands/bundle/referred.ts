import type { KubeObject, Secret, Stored } from "kube-controller-runtime";
import { MANAGED_BY_LABEL, MANAGER_NAME } from "../../../operator/names.ts";

/** The Secrets that the operator made, and those that the objects name. Those of others are nobody's business. */
export function referredSecrets(
  secrets: readonly Stored<Secret>[],
  objects: readonly Stored<KubeObject>[],
): Stored<Secret>[] {
  const referred = new Set(
    objects.flatMap((object) => namesIn(object, false).map((name) => `${object.metadata.namespace}/${name}`)),
  );
  return secrets.filter(
    ({ metadata: { namespace, name, labels } }) =>
      labels?.[MANAGED_BY_LABEL] === MANAGER_NAME || referred.has(`${namespace}/${name}`),
  );
}

/** Texts in or below a field whose name speaks of Secrets; what is no name among them matches none. */
function namesIn(value: unknown, isSecret: boolean): string[] {
  if (typeof value === "string") return isSecret ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => namesIn(below, isSecret || /secret/i.test(key)));
}
