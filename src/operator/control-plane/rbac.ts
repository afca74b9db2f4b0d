import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, ownVerbs, readVerbs, workspaceResources, workspaceVerbs } from "../permissions/rbac.ts";

export const rules: readonly PolicyRule[] = [
  {
    resources: ["codercontrolplanes.coder.com"],
    verbs: ownVerbs,
    because: "reads control planes and keeps their finalizer",
  },
  {
    resources: ["codercontrolplanes.coder.com/status"],
    verbs: ["patch"],
    because: "reports the state of control planes",
  },
  {
    resources: ["codercontrolplanes.coder.com/finalizers"],
    verbs: ["update"],
    because: "owns children where the cluster checks who may block a deletion",
  },
  {
    resources: ["deployments.apps", "services", "serviceaccounts"],
    verbs: childVerbs,
    because: "runs coderd",
  },
  {
    resources: ["ingresses.networking.k8s.io", "httproutes.gateway.networking.k8s.io"],
    verbs: childVerbs,
    because: "exposes coderd outside the cluster",
  },
  {
    resources: ["roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"],
    verbs: childVerbs,
    because: "lets coderd run workspaces",
  },
  {
    resources: workspaceResources,
    verbs: workspaceVerbs,
    because: "grants coderd these verbs for workspaces",
  },
  {
    resources: ["secrets"],
    verbs: childVerbs,
    because: "reads licenses, database URLs and tokens; keeps the operator's token",
  },
  { resources: ["configmaps"], verbs: readVerbs, because: "finds the database URL that envFrom may name" },
  {
    resources: ["poddisruptionbudgets.policy"],
    verbs: childVerbs,
    because: "limits how many pods a drain evicts at a time",
  },
  { resources: ["pods"], verbs: readVerbs, because: "finds out why pods do not become ready" },
];
