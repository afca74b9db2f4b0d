import { accessReviewRules, type PolicyRule, type Verb } from "kube-controller-runtime";
import { resources } from "./inputs.ts";

export const operatorName = "coder-k8s";
export const operatorNamespace = "coder-system";
const rbacVersion = "rbac.authorization.k8s.io/v1";

/** A rule in the format of Kubernetes. */
export interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly Verb[];
}

const verbOrder: readonly Verb[] = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

/** All declarations for one resource. */
export interface ResourcePermission {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly Verb[];
  readonly reasons: readonly string[];
}

/** One entry for each resource, with the verbs of all its declarations, ordered by group and name. */
export function byResource(permissions: readonly PolicyRule[]): ResourcePermission[] {
  const names = new Set(permissions.flatMap(({ resources }) => resources));
  return [...names]
    .map((name) => {
      const declared = permissions.filter(({ resources }) => resources.includes(name));
      return {
        ...splitResource(name),
        verbs: verbOrder.filter((verb) => declared.some(({ verbs }) => verbs.includes(verb))),
        reasons: [...new Set(declared.map(({ because }) => because))],
      };
    })
    .sort((a, b) => compare(a.group, b.group) || compare(a.resource, b.resource));
}

/** The minimal equivalent rules: resources of a group with equal verbs share one. */
export function mergedRules(permissions: readonly PolicyRule[]): RoleRule[] {
  const merged = new Map<string, { group: string; resources: string[]; verbs: readonly Verb[] }>();
  for (const { group, resource, verbs } of byResource(permissions)) {
    const key = `${group}:${verbs.join()}`;
    const rule = merged.get(key) ?? { group, resources: [], verbs };
    merged.set(key, rule);
    rule.resources.push(resource);
  }
  return [...merged.values()].map(({ group, resources, verbs }) => ({
    apiGroups: [group],
    resources,
    verbs,
  }));
}

/** `deployments.apps/status` is `deployments/status` of the group `apps`. */
function splitResource(name: string): { group: string; resource: string } {
  const [, plural = "", group = "", subresource = ""] = /^([^./]+)(?:\.([^/]+))?(\/.+)?$/.exec(name) ?? [];
  return { group, resource: `${plural}${subresource}` };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The Lease is in one namespace, so only a Role there includes it. */
function isForLease({ resources }: PolicyRule): boolean {
  return resources.includes("leases.coordination.k8s.io");
}

/** The permissions that a Role can grant, for an operator that is limited to namespaces. */
function namespacedRules(permissions: readonly PolicyRule[]): RoleRule[] {
  return mergedRules(permissions.filter((each) => !isForLease(each) && !each.clusterScoped));
}

/** The permissions that require a ClusterRole. */
function clusterScopedRules(permissions: readonly PolicyRule[]): RoleRule[] {
  return mergedRules(permissions.filter(({ clusterScoped }) => clusterScoped));
}

export function clusterRole(permissions: readonly PolicyRule[]): object {
  return {
    apiVersion: rbacVersion,
    kind: "ClusterRole",
    metadata: { name: operatorName },
    rules: [...namespacedRules(permissions), ...clusterScopedRules(permissions)],
  };
}

const ourResources = resources.map(({ kind }) => kind.plural);

const scales = ["coderprovisioners/scale", "coderworkspaceproxies/scale"];

interface PeopleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly Verb[];
}

/**
 * Permissions for users with the Kubernetes roles of these names, each in addition to the previous one. Only
 * the operator writes statuses.
 */
const peopleRules: Readonly<Record<string, readonly PeopleRule[]>> = {
  view: [
    { apiGroups: ["coder.com"], resources: ourResources, verbs: ["get", "list", "watch"] },
    { apiGroups: ["coder.com"], resources: scales, verbs: ["get"] },
  ],
  edit: [
    { apiGroups: ["coder.com"], resources: ourResources, verbs: ["create", "update", "patch", "delete"] },
    { apiGroups: ["coder.com"], resources: scales, verbs: ["update", "patch"] },
  ],
  admin: [{ apiGroups: ["coder.com"], resources: ourResources, verbs: ["deletecollection"] }],
};

/** Roles for users, which Kubernetes aggregates to its own `view`, `edit` and `admin`. */
export const peopleRoles: readonly object[] = Object.entries(peopleRules).map(([role, rules]) => ({
  apiVersion: rbacVersion,
  kind: "ClusterRole",
  metadata: {
    name: `${operatorName}-${role}`,
    labels: { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true" },
  },
  rules,
}));

const operatorAccount = { kind: "ServiceAccount", name: operatorName, namespace: operatorNamespace };

function binding(kind: "ClusterRoleBinding" | "RoleBinding", role: "ClusterRole" | "Role"): object {
  return {
    apiVersion: rbacVersion,
    kind,
    metadata: { name: operatorName },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: role, name: operatorName },
    subjects: [operatorAccount],
  };
}

export const clusterRoleBinding = binding("ClusterRoleBinding", "ClusterRole");

/** The operator's account in its own namespace, with access to its Lease there. */
export function serviceAccount(permissions: readonly PolicyRule[]): readonly object[] {
  const metadata = { name: `${operatorName}-leader-election`, namespace: operatorNamespace };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: operatorNamespace } },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: operatorName, namespace: operatorNamespace },
    },
    { apiVersion: rbacVersion, kind: "Role", metadata, rules: mergedRules(permissions.filter(isForLease)) },
    {
      apiVersion: rbacVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
      subjects: [operatorAccount],
    },
  ];
}

/** The same for an operator that is limited to namespaces. */
export function namespacedRole(permissions: readonly PolicyRule[]): readonly object[] {
  return [
    {
      apiVersion: rbacVersion,
      kind: "Role",
      metadata: { name: operatorName },
      rules: namespacedRules(permissions),
    },
    binding("RoleBinding", "Role"),
  ];
}

/** The rules of the chart's roles, by purpose. */
export function chartRules(permissions: readonly PolicyRule[]): Record<string, unknown> {
  return {
    operator: namespacedRules(permissions),
    clusterScoped: clusterScopedRules(permissions),
    leaderElection: mergedRules(permissions.filter(isForLease)),
    metricsAuth: mergedRules(accessReviewRules),
    people: peopleRules,
  };
}
