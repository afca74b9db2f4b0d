import type { V1ObjectMeta } from "@kubernetes/client-node";

/**
 * The JSON form of a `@kubernetes/client-node` class: dates are RFC 3339 strings, and names that the
 * generator escaped with an underscore (`_continue`, `_default`) have their original spelling.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Name in keyof T as Name extends `_${infer Real}` ? Real : Name]: Wire<T[Name]> }
      : T;

/** `metadata` in its JSON form. */
export type ObjectMeta = Wire<V1ObjectMeta>;

/** The common fields of all Kubernetes objects; sufficient for caches and queues. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** An object that the API server has stored: it has a UID and a version. */
export type Stored<T extends KubeObject> = T & {
  metadata: ObjectMeta & { name: string; uid: string; resourceVersion: string };
};

/** A resource type of the API server together with the TypeScript type of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /**
   * The kind of the object, if this is a subresource: see `subresource`. `plural` is then the subresource's
   * name.
   */
  readonly of?: Kind;
  /** Limits the objects that a cache holds: see `select`. */
  readonly selection?: KindSelection;
  /** For type inference only; never present at run time. */
  readonly objectType?: T;
}

/** Selectors in the syntax of the API server. */
export interface KindSelection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** The name of one object; cluster-scoped objects have no namespace. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** `namespace/name`, or only `name` for cluster-scoped objects: the key in caches and queues. */
export type ObjectKey = string;

/** The key of a reference. */
export function keyOf(ref: ObjectRef): ObjectKey {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

export function refOfKey(key: ObjectKey): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The reference to an object; throws if it has no name. */
export function refOf(object: KubeObject): ObjectRef {
  const { name, namespace } = object.metadata ?? {};
  if (!name) throw new TypeError(`a ${object.kind ?? "object"} without metadata.name has no reference`);
  return { namespace, name };
}

/** The key of an object; throws if it has no name. */
export function keyOfObject(object: KubeObject): ObjectKey {
  return keyOf(refOf(object));
}

/** Whether a JSON value is an object: neither a list nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The API group of a kind; empty for the core group. */
export function groupOf(kind: Pick<Kind, "apiVersion">): string {
  const slash = kind.apiVersion.indexOf("/");
  return slash < 0 ? "" : kind.apiVersion.slice(0, slash);
}

/** `deployments.apps`, `deployments.apps/scale`: the name of a resource type in RBAC and kubectl. */
export function resourceName(kind: Kind): string {
  if (kind.of) return `${resourceName(kind.of)}/${kind.plural}`;
  const group = groupOf(kind);
  return group ? `${kind.plural}.${group}` : kind.plural;
}
