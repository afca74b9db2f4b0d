import {
  type ConflictAdvice,
  fingerprint,
  fnv1a32,
  type KubeObject,
  type ObjectMeta,
  type OwnershipMarks,
  type Stored,
} from "kube-controller-runtime";

/** What children need to know of the object that they are made for. */
export interface Identity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** The identity of an object of ours; all our kinds live in a namespace. */
export function identityOf({ metadata }: Stored<KubeObject>): Identity {
  const { name, namespace, uid } = metadata;
  if (!namespace) throw new TypeError(`an object of ours without a namespace: "${name}"`);
  return { name, namespace, uid };
}

/** Longest name of a Service, a label's value and everything else that must be a DNS label. */
export const labelLength = 63;

/** Longest name of most other objects. */
export const nameLength = 253;

export interface NameParts {
  readonly prefix?: string;
  readonly suffix?: string;
  readonly max: number;
}

/**
 * `prefix + base + suffix`, of at most `max` characters. Where that is too long, the base is cut and the
 * FNV-1a/32 of the whole base is put behind it, so two names that differ only past the cut stay apart.
 */
export function shortName(base: string, { prefix = "", suffix = "", max }: NameParts): string {
  if (prefix.length + base.length + suffix.length <= max) return prefix + base + suffix;
  const hash = `-${fnv1a32(base)}`;
  const room = max - prefix.length - hash.length - suffix.length;
  // A dash after a dot would begin a DNS label, which no object name may have.
  return prefix + base.slice(0, room).replace(/\.$/, "") + hash + suffix;
}

/**
 * A name as the value of a label. Cut like any other name, but a dot at the cut stays: labels allow it, and
 * selectors that were made with it can never change.
 */
export function labelValue(name: string): string {
  if (name.length <= labelLength) return name;
  const hash = `-${fnv1a32(name)}`;
  return name.slice(0, labelLength - hash.length) + hash;
}

/** A default name that the other side keeps for itself gets its hash behind it; all others stay as they are. */
export function avoidReserved(name: string, reserved: readonly string[]): string {
  return reserved.includes(name) ? `${name}-${fnv1a32(name)}` : name;
}

/** By kind, what its children have in the label `app.kubernetes.io/name`. */
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

/** The name of the Deployment of an object, and of the children that are called like it. */
export function childNameOf(app: App, name: string): string {
  return shortName(name, { prefix: CHILD_PREFIXES[app], max: labelLength });
}

/** An object of ours as its children see it. */
export interface Parent {
  readonly app: App;
  readonly identity: Identity;
  /** Labels that the user wants on every child, beside ours. */
  readonly labels?: Labels;
}

export type Labels = Readonly<Record<string, string>>;

/** The label that every child has, and its value. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGER_NAME = "coder-k8s";

/** The labels of every child. Selectors use all three and are immutable, so these never change. */
export function commonLabels({ app, identity }: Parent): Record<string, string> {
  return {
    "app.kubernetes.io/name": app,
    "app.kubernetes.io/instance": labelValue(identity.name),
    [MANAGED_BY_LABEL]: MANAGER_NAME,
  };
}

/** The names of these labels, in the order of their values. */
export const commonLabelNames: readonly string[] = Object.keys(
  commonLabels({ app: "coder-control-plane", identity: { name: "", namespace: "", uid: "" } }),
);

/** Labels as a selector, as `kubectl -l` takes it. */
export function selectorOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

/** The annotations by which objects say whose they are. */
export const ownershipMarks: OwnershipMarks = {
  handOver: "coder.com/adopt-by",
  ownerUid: "coder.com/workspace-rbac-owner-uid",
  applied: "coder.com/applied-hash",
};

/** How a foreign object that has the name of a child becomes ours. */
export const conflictAdvice: ConflictAdvice = { handOver: ownershipMarks.handOver };

/** The Lease of whichever replica of the operator leads. */
export const LEASE_NAME = "coder-k8s-controller.coder.com";

/** The domain of Services in a cluster that nobody gave another. */
export const USUAL_CLUSTER_DOMAIN = "cluster.local";

/** A change of it makes the operator look at everything anew, whatever pause it keeps. */
export const REQUEST_ANNOTATION = "coder.com/reconcile-at";

/** A change of it asks for another provisioner key, or for another token of the operator. */
export const ROTATE_ANNOTATION = "coder.com/rotate-at";

/** On a Secret of ours: the request for which what it holds was made. Written with the value, so it never lies. */
export const ROTATED_ANNOTATION = "coder.com/rotated-at";

/** The request for a rotation; its hash, since people may write texts of any length. */
export function rotationRequest({ metadata }: KubeObject): string | undefined {
  const request = metadata?.annotations?.[ROTATE_ANNOTATION];
  return request === undefined ? undefined : fingerprint([request]);
}

/** Metadata of a child in its parent's namespace. The owner reference is for whoever applies it. */
export function childMetadata(parent: Parent, name: string, annotations: Labels = {}): ObjectMeta {
  const labels = { ...parent.labels, ...commonLabels(parent) };
  const metadata = { name, namespace: parent.identity.namespace, labels };
  return Object.keys(annotations).length > 0 ? { ...metadata, annotations: { ...annotations } } : metadata;
}
