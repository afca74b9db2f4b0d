import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, podRules, readVerbs, rulesOfKind, workspaceRules } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("coderprovisioners", "provisioners"),
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
  ...workspaceRules({ whom: "daemons", lets: "lets daemons build workspaces" }),
  { resources: ["secrets"], verbs: childVerbs, because: "reads session tokens; keeps provisioner keys" },
  {
    resources: ["configmaps"],
    verbs: readVerbs,
    because: "finds the access URL of a control plane, and what pods are restarted for",
  },
  ...podRules,
  {
    resources: ["pods/status"],
    verbs: ["patch"],
    because: "lets a daemon's pod count as ready once coderd lists the daemon",
  },
];
