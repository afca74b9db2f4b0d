import { randomUUID } from "node:crypto";
import {
  type Condition,
  Deployment,
  fnv1a32,
  Ingress,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { HTTPRoute } from "../../src/operator/workload/exposure/gateway.ts";

export interface Parent extends KubeObject {
  status?: { conditions?: Condition[] };
}

export interface Family {
  readonly kind: Kind<Parent>;
  readonly app: string;
  /** A spec that asks for a child of the kind. */
  readonly spec: (child: Kind) => object;
  /** The kinds of children and how they are named, the Deployment among them. */
  readonly children: readonly (readonly [Kind, (name: string, namespace: string) => string])[];
}

const host = "coder.example.com";
const exposeBy = (child: Kind) =>
  child === (HTTPRoute as Kind)
    ? { gateway: { host, parentRefs: [{ name: "public" }] } }
    : { ingress: { host } };
const grant = (name: string, namespace: string) => `${name}-${fnv1a32(`${namespace}\0${name}`)}`;
const same = (name: string) => name;
export const pool = (name: string) => `provisioner-${name}`;
const proxy = (name: string) => `wsproxy-${name}`;

export const families: readonly Family[] = [
  {
    kind: CoderControlPlane as Kind<Parent>,
    app: "coder-control-plane",
    spec: (child) => ({ expose: exposeBy(child) }),
    children: [
      [ServiceAccount, same],
      [Role, (name, namespace) => `${grant(name, namespace)}-workspace-perms`],
      [Service, same],
      [RoleBinding, grant],
      [Ingress, same],
      [HTTPRoute, same],
      [Deployment, same],
      [Secret, (name) => `${name}-operator-token`],
    ],
  },
  {
    kind: CoderProvisioner as Kind<Parent>,
    app: "coder-provisioner",
    spec: () => ({ controlPlaneRef: { name: "coder" } }),
    children: [
      [Secret, (name) => `${name}-provisioner-key`],
      [Role, pool],
      [ServiceAccount, (name) => `${name}-provisioner`],
      [RoleBinding, pool],
      [Deployment, pool],
    ],
  },
  {
    kind: CoderWorkspaceProxy as Kind<Parent>,
    app: "coder-workspace-proxy",
    spec: (child) => ({ controlPlaneRef: { name: "coder" }, expose: exposeBy(child) }),
    children: [
      [Secret, (name) => `${name}-proxy-token`],
      [Service, proxy],
      [Ingress, proxy],
      [HTTPRoute, proxy],
      [Deployment, proxy],
    ],
  },
];

/** How an object of a child's name comes to be there, and whether it is the parent's. */
export const origins = {
  "without a controller": { isOurs: false, metadata: () => ({}) },
  "of another controller": {
    isOurs: false,
    metadata: () => ({
      ownerReferences: [reference({ apiVersion: "apps/v1", kind: "StatefulSet", name: "rival" })],
    }),
  },
  "of a Helm release": {
    isOurs: false,
    metadata: () => ({
      labels: { "app.kubernetes.io/managed-by": "Helm" },
      annotations: { "meta.helm.sh/release-name": "shop" },
    }),
  },
  "of an earlier uid": {
    isOurs: true,
    metadata: ({ kind }: Family, name: string) => ({
      ownerReferences: [reference({ apiVersion: kind.apiVersion, kind: kind.kind, name })],
    }),
  },
  "with our labels only": {
    isOurs: true,
    metadata: ({ app }: Family, name: string) => ({ labels: labelsOf(app, name) }),
  },
  "that is handed over": {
    isOurs: true,
    metadata: ({ kind }: Family, name: string) => ({
      annotations: { "coder.com/adopt-by": `${kind.kind}/${name}` },
    }),
  },
} as const;

export type Origin = keyof typeof origins;

const originNames = Object.keys(origins) as Origin[];

function reference(owner: { apiVersion: string; kind: string; name: string }) {
  return { ...owner, uid: randomUUID(), controller: true };
}

export function labelsOf(app: string, name: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": app,
    "app.kubernetes.io/instance": name,
    "app.kubernetes.io/managed-by": "coder-k8s",
  };
}

/** The fields of the object besides its metadata: different from ours if they are mutable. */
export function contentOf(kind: Kind, childName: string, labels: object): object {
  const pod = { containers: [{ name: "old", image: "example.invalid/old:1" }] };
  const roleName = childName.startsWith("provisioner-") ? childName : `${childName}-workspace-perms`;
  const contents: Readonly<Record<string, object>> = {
    Role: { rules: [] },
    RoleBinding: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: roleName },
      subjects: [],
    },
    Service: { spec: { ports: [{ name: "http", port: 1234 }], selector: { app: "old" } } },
    Ingress: { spec: { defaultBackend: { service: { name: "old", port: { number: 80 } } } } },
    HTTPRoute: { spec: { parentRefs: [{ name: "old" }], hostnames: ["old.example.com"] } },
    Deployment: {
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
    },
  };
  return contents[kind.kind] ?? {};
}

export interface Case {
  readonly family: Family;
  readonly child: Kind;
  readonly origin: Origin;
  readonly name: string;
  readonly childName: string;
}

/** How many of the origins of each child are tried. */
export type Width = "every origin" | "two origins";

/** How far apart the two are: one of them is never ours, and the other always is. */
const APART = originNames.length / 2;

/** The origins that are tried with a child: all, or two that change from child to child. */
export function originsFor(family: Family, child: Kind, width: Width): readonly Origin[] {
  if (width === "every origin") return originNames;
  const index = family.children.findIndex(([each]) => each === child);
  return originNames.filter((_, at) => (at + index) % APART === 1);
}

/** Every child of every kind, with an object of each origin in its place. */
export function casesIn(namespace: string, width: Width): Case[] {
  return families.flatMap((family) =>
    family.children.flatMap(([child, nameOf]) =>
      originsFor(family, child, width).map((origin) => {
        const index = originNames.indexOf(origin);
        const name = `${family.app.slice(6, 9)}-${child.kind.toLowerCase()}-${index}`;
        return { family, child, origin, name, childName: nameOf(name, namespace) };
      }),
    ),
  );
}
