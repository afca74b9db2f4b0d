import {
  type ConflictAdvice,
  fingerprint,
  fnv1a32,
  type KubeObject,
  type ObjectMeta,
  type OwnershipMarks,
  type Stored,
} from "kube-controller-runtime";

/** What children need to know about their parent. */
export interface Identity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Returns the identity of a custom resource. All kinds are namespaced. */
export function identityOf({ metadata }: Stored<KubeObject>): Identity {
  const { name, namespace, uid } = metadata;
  if (!namespace) throw new TypeError(`custom resource without a namespace: "${name}"`);
  return { name, namespace, uid };
}

/** Maximum length of a Service name, a label value and other DNS labels. */
export const labelLength = 63;

/** Maximum length of most object names. */
export const nameLength = 253;

export interface NameParts {
  readonly prefix?: string;
  readonly suffix?: string;
  readonly max: number;
}

/**
 * Returns `prefix + base + suffix` with at most `max` characters. If this is too long, the base is truncated
 * and followed by its FNV-1a/32 hash, so that names with the same beginning remain different.
 */
export function shortName(base: string, { prefix = "", suffix = "", max }: NameParts): string {
  if (prefix.length + base.length + suffix.length <= max) return prefix + base + suffix;
  const hash = `-${fnv1a32(base)}`;
  const room = max - prefix.length - hash.length - suffix.length;
  // An object name must not contain a dot followed by a dash.
  return prefix + base.slice(0, room).replace(/\.$/, "") + hash + suffix;
}

/**
 * Converts a name to a label value. A truncated name keeps a trailing dot: labels allow it, and existing
 * selectors are immutable.
 */
export function labelValue(name: string): string {
  if (name.length <= labelLength) return name;
  const hash = `-${fnv1a32(name)}`;
  return name.slice(0, labelLength - hash.length) + hash;
}

/** Appends the hash to a default name that the other side reserves. Keeps all other names. */
export function avoidReserved(name: string, reserved: readonly string[]): string {
  return reserved.includes(name) ? `${name}-${fnv1a32(name)}` : name;
}

/** The label `app.kubernetes.io/name` of the children of each kind. */
export const APPS = {
  CoderControlPlane: "coder-control-plane",
  CoderProvisioner: "coder-provisioner",
  CoderWorkspaceProxy: "coder-workspace-proxy",
} as const;

type App = (typeof APPS)[keyof typeof APPS];

const CHILD_PREFIXES: Readonly<Record<App, string>> = {
  "coder-control-plane": "",
  "coder-provisioner": "provisioner-",
  "coder-workspace-proxy": "wsproxy-",
};

/** Name of the Deployment of an object and of children with the same name. */
export function childNameOf(app: App, name: string): string {
  return shortName(name, { prefix: CHILD_PREFIXES[app], max: labelLength });
}

/** A custom resource from the perspective of its children. */
export interface Parent {
  readonly app: App;
  readonly identity: Identity;
  /** Additional labels that the user sets on every child. */
  readonly labels?: Labels;
}

export type Labels = Readonly<Record<string, string>>;

/** Label of every child. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGER_NAME = "coder-k8s";

/** Labels of every child. All three are part of immutable selectors, so they must never change. */
export function commonLabels({ app, identity }: Parent): Record<string, string> {
  return {
    "app.kubernetes.io/name": app,
    "app.kubernetes.io/instance": labelValue(identity.name),
    [MANAGED_BY_LABEL]: MANAGER_NAME,
  };
}

/** Names of these labels, in the order of their values. */
export const commonLabelNames: readonly string[] = Object.keys(
  commonLabels({ app: "coder-control-plane", identity: { name: "", namespace: "", uid: "" } }),
);

/** Formats labels as a selector for `kubectl -l`. */
export function selectorOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

/** Annotations that record the owner of an object. */
export const ownershipMarks: OwnershipMarks = {
  handOver: "coder.com/adopt-by",
  ownerUid: "coder.com/workspace-rbac-owner-uid",
  applied: "coder.com/applied-hash",
};

/** How to transfer a conflicting object to the operator. */
export const conflictAdvice: ConflictAdvice = { handOver: ownershipMarks.handOver };

/** Lease of the leader. */
export const LEASE_NAME = "coder-k8s-controller.coder.com";

/** Default cluster domain. */
export const DEFAULT_CLUSTER_DOMAIN = "cluster.local";

/** Changing it triggers a reconcile immediately, regardless of any delay. */
export const REQUEST_ANNOTATION = "coder.com/reconcile-at";

/** Changing it requests a new provisioner key or operator token. */
export const ROTATE_ANNOTATION = "coder.com/rotate-at";

/**
 * On a Secret: the request that its value was created for. Written together with the value, so it is always
 * accurate.
 */
export const ROTATED_ANNOTATION = "coder.com/rotated-at";

/** The requested rotation. Hashed, because users can set values of any length. */
export function rotationRequest({ metadata }: KubeObject): string | undefined {
  const request = metadata?.annotations?.[ROTATE_ANNOTATION];
  return request === undefined ? undefined : fingerprint([request]);
}

/** Metadata of a child in its parent's namespace. The apply adds the owner reference. */
export function childMetadata(parent: Parent, name: string, annotations: Labels = {}): ObjectMeta {
  const labels = { ...parent.labels, ...commonLabels(parent) };
  const metadata = { name, namespace: parent.identity.namespace, labels };
  return Object.keys(annotations).length > 0 ? { ...metadata, annotations: { ...annotations } } : metadata;
}
