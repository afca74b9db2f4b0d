import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, ownVerbs, readVerbs, workspaceResources, workspaceVerbs } from "../permissions/rbac.ts";

export const rules: readonly PolicyRule[] = [
  {
    resources: ["coderprovisioners.coder.com"],
    verbs: ownVerbs,
    because: "reads provisioners and keeps their finalizer",
  },
  {
    resources: ["coderprovisioners.coder.com/status"],
    verbs: ["patch"],
    because: "reports the state of provisioners and of their keys",
  },
  {
    resources: ["coderprovisioners.coder.com/finalizers"],
    verbs: ["update"],
    because: "owns children where the cluster checks who may block a deletion",
  },
  {
    resources: ["codercontrolplanes.coder.com"],
    verbs: readVerbs,
    because: "finds the control plane of a provisioner",
  },
  {
    resources: ["services"],
    verbs: readVerbs,
    because: "sends tokens only to a control plane's own Service",
  },
  {
    resources: ["deployments.apps", "serviceaccounts"],
    verbs: childVerbs,
    because: "runs provisioner daemons",
  },
  {
    resources: ["roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"],
    verbs: childVerbs,
    because: "lets daemons build workspaces",
  },
  {
    resources: workspaceResources,
    verbs: workspaceVerbs,
    because: "grants daemons these verbs for workspaces",
  },
  { resources: ["secrets"], verbs: childVerbs, because: "reads session tokens; keeps provisioner keys" },
  {
    resources: ["poddisruptionbudgets.policy"],
    verbs: childVerbs,
    because: "limits how many pods a drain evicts at a time",
  },
  { resources: ["pods"], verbs: readVerbs, because: "finds out why pods do not become ready" },
];
