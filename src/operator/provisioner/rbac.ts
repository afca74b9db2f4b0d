import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, podRules, readVerbs, rulesOfKind, workspaceRules } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("coderprovisioners", "provisioners"),
  {
    resources: ["codercontrolplanes.coder.com"],
    verbs: readVerbs,
    because: "looks up the control plane of a provisioner",
  },
  {
    resources: ["services"],
    verbs: readVerbs,
    because: "verifies that tokens are sent only to the Service of a control plane",
  },
  {
    resources: ["deployments.apps", "serviceaccounts"],
    verbs: childVerbs,
    because: "runs provisioner daemons",
  },
  ...workspaceRules({ subject: "daemons", lets: "allows daemons to build workspaces" }),
  { resources: ["secrets"], verbs: childVerbs, because: "reads session tokens; stores provisioner keys" },
  {
    resources: ["configmaps"],
    verbs: readVerbs,
    because: "reads the access URL of a control plane; detects changes that restart pods",
  },
  ...podRules,
  {
    resources: ["pods/status"],
    verbs: ["patch"],
    because: "sets the readiness gate of a pod after its daemon connected to coderd",
  },
];
