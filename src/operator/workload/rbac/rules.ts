import type { PolicyRule, Verb } from "kube-controller-runtime";

export const readVerbs: readonly Verb[] = ["get", "list", "watch"];

/** For children: an apply is a patch that may create; the operator never sends updates. */
export const childVerbs: readonly Verb[] = [...readVerbs, "create", "patch", "delete"];

/** For custom resources: the finalizer is set by a patch. */
const ownVerbs: readonly Verb[] = [...readVerbs, "patch"];

/**
 * Permissions on pods, volume claims and deployments in the Roles that the operator creates. Kubernetes only
 * allows granting permissions that the operator has itself, so its own role contains the same list.
 */
export const workspaceVerbs: readonly Verb[] = [
  ...readVerbs,
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

const workspaceResources = ["pods", "persistentvolumeclaims", "deployments.apps"] as const;

/** Permissions of a kind's controller for its objects. `noun` is the plural in texts. */
export function rulesOfKind(plural: string, noun: string): PolicyRule[] {
  const resource = `${plural}.coder.com`;
  return [
    { resources: [resource], verbs: ownVerbs, because: `reads ${noun} and sets their finalizer` },
    { resources: [`${resource}/status`], verbs: ["patch"], because: `reports the state of ${noun}` },
    {
      resources: [`${resource}/finalizers`],
      verbs: ["update"],
      because:
        "sets owner references if the OwnerReferencesPermissionEnforcement admission plugin is enabled",
    },
  ];
}

/** Permissions of controllers with a Deployment. */
export const podRules: readonly PolicyRule[] = [
  {
    resources: ["poddisruptionbudgets.policy"],
    verbs: childVerbs,
    because: "limits how many pods a node drain evicts at a time",
  },
  {
    resources: ["pods"],
    verbs: [...readVerbs, "delete"],
    because:
      "finds out why pods are not ready, and replaces failing pods when their Secrets or ConfigMaps change",
  },
  {
    resources: ["replicasets.apps"],
    verbs: ["list"],
    because: "finds out why pods cannot be created, such as a quota or Pod Security",
  },
  {
    resources: ["events"],
    verbs: ["list"],
    because: "finds out why a pod does not start, such as a volume that cannot be mounted",
  },
  {
    resources: ["namespaces"],
    verbs: ["list", "watch"],
    because: "cleans up in coderd when a namespace is deleted, before its objects are gone",
    clusterScoped: true,
  },
];

/** Permissions of controllers with an exposure. */
export function exposureRules(subject: string): PolicyRule[] {
  return [
    {
      resources: [
        "ingresses.networking.k8s.io",
        "httproutes.gateway.networking.k8s.io",
        "listenersets.gateway.networking.k8s.io",
      ],
      verbs: childVerbs,
      because: `exposes ${subject} outside the cluster`,
    },
    {
      resources: ["ingressclasses.networking.k8s.io"],
      verbs: ["list", "watch"],
      because: "reports an ingress class that does not exist",
      clusterScoped: true,
    },
  ];
}

/** Permissions to create Roles that allow `whom` to run workspaces. */
export function workspaceRules({
  subject,
  lets,
}: { readonly [part in "subject" | "lets"]: string }): PolicyRule[] {
  const rbac = "rbac.authorization.k8s.io";
  return [
    { resources: [`roles.${rbac}`, `rolebindings.${rbac}`], verbs: childVerbs, because: lets },
    {
      resources: workspaceResources,
      verbs: workspaceVerbs,
      because: `grants ${subject} these verbs for workspaces`,
    },
  ];
}

/** Permissions of the process, independent of its controllers. */
export const rules: readonly PolicyRule[] = [
  {
    resources: ["leases.coordination.k8s.io"],
    verbs: ["get", "create", "patch"],
    because: "elects the leader",
  },
  {
    resources: ["events"],
    verbs: ["create", "patch"],
    because: "emits Events",
  },
];
