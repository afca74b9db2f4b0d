import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, exposureRules, podRules, readVerbs, rulesOfKind } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("coderworkspaceproxies", "workspace proxies"),
  {
    resources: ["codercontrolplanes.coder.com"],
    verbs: readVerbs,
    because: "looks up the control plane of a proxy",
  },
  { resources: ["deployments.apps", "services"], verbs: childVerbs, because: "runs workspace proxies" },
  ...exposureRules("workspace proxies"),
  { resources: ["secrets"], verbs: childVerbs, because: "reads session tokens; stores proxy tokens" },
  {
    resources: ["configmaps"],
    verbs: readVerbs,
    because: "reads the URLs of the proxy if envFrom contains them",
  },
  ...podRules,
];
