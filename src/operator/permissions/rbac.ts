import type { PolicyRule, Verb } from "kube-controller-runtime";

export const readVerbs: readonly Verb[] = ["get", "list", "watch"];

/** For objects that we make: apply is a patch that may create; nothing here is ever sent as an update. */
export const childVerbs: readonly Verb[] = [...readVerbs, "create", "patch", "delete"];

/** For an object of ours: its finalizer is set by a patch. */
export const ownVerbs: readonly Verb[] = [...readVerbs, "patch"];

/**
 * What the Roles that we make allow on pods, volume claims and deployments. Kubernetes lets nobody grant what
 * he does not hold, so the same list goes into those Roles and into our own.
 */
export const workspaceVerbs: readonly Verb[] = [
  ...readVerbs,
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

export const workspaceResources = ["pods", "persistentvolumeclaims", "deployments.apps"] as const;

/** What the process needs whichever controllers run in it. */
export const rules: readonly PolicyRule[] = [
  {
    resources: ["leases.coordination.k8s.io"],
    verbs: ["get", "create", "patch"],
    because: "elects the one replica that works",
  },
  {
    resources: ["events"],
    verbs: ["create", "patch"],
    because: "emits Events for what happened and counts repeats",
  },
];
