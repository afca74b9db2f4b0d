import {
  type Client,
  Deployment,
  Ingress,
  type Kind,
  type KubeObject,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";

export const childKinds: readonly Kind[] = [
  ServiceAccount,
  Role,
  RoleBinding,
  Deployment,
  Service,
  Ingress,
  PodDisruptionBudget,
];

/** Differs from object to object though nothing is different: who it is, when it was made, where it was put. */
const accidental: ReadonlySet<string> = new Set([
  "coder.com/applied-hash",
  "clusterIP",
  "clusterIPs",
  "creationTimestamp",
  "generation",
  "lastTransitionTime",
  "managedFields",
  "observedGeneration",
  "resourceVersion",
  "uid",
]);

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const HASH = /-[0-9a-f]{8}\b/g;

/** An object with a name and a namespace. */
interface NamedObject {
  readonly namespace: string;
  readonly name: string;
}

/** The fields of an object that the operator determines, with the names of its control plane replaced. */
export function essence(object: Stored<KubeObject>, controlPlane: NamedObject): unknown {
  const text = JSON.stringify(object, (key, value) => (accidental.has(key) ? undefined : value));
  const neutral = text
    .replaceAll(UUID, "<uid>")
    .replaceAll(controlPlane.namespace, "<namespace>")
    .replaceAll(controlPlane.name, "<name>");
  return JSON.parse(neutral.replaceAll(HASH, "-<hash>"));
}

/** The essence of every child of a control plane, in a fixed order. */
export async function essenceOfChildren(client: Client, controlPlane: NamedObject): Promise<unknown[]> {
  const labelSelector = `app.kubernetes.io/instance=${controlPlane.name}`;
  const { namespace } = controlPlane;
  const lists = await Promise.all(childKinds.map((kind) => client.list(kind, { namespace, labelSelector })));
  return lists.flatMap(({ items }, index) =>
    items.map((item) => ({ kind: childKinds[index]?.kind, ...(essence(item, controlPlane) as object) })),
  );
}
