import { type Kind, type ObjectRef, resourceName } from "../object.ts";

/** The URL path of all objects of a kind, in one namespace or in all. */
export function collectionPath(kind: Kind, namespace?: string): string {
  if (kind.of) throw new TypeError(`${resourceName(kind)} is a subresource: it can't be listed or watched`);
  const root = kind.apiVersion.includes("/") ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  const scope = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${kind.plural}`;
}

/** The URL path of one object, or of one of its subresources. */
export function objectPath(kind: Kind, ref: ObjectRef, subresource?: string): string {
  if (kind.of) return objectPath(kind.of, ref, kind.plural);
  if (kind.namespaced && !ref.namespace) throw new TypeError(`${kind.kind} "${ref.name}" needs a namespace`);
  const path = `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** `?a=b&c=d` with the parameters that are set; empty if there are none. */
export function queryString(
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}
