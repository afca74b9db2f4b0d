import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, exposureRules, podRules, readVerbs, rulesOfKind } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("coderworkspaceproxies", "workspace proxies"),
  {
    resources: ["codercontrolplanes.coder.com"],
    verbs: readVerbs,
    because: "finds the control plane of a proxy",
  },
  { resources: ["deployments.apps", "services"], verbs: childVerbs, because: "runs workspace proxies" },
  ...exposureRules("workspace proxies"),
  { resources: ["secrets"], verbs: childVerbs, because: "reads session tokens; keeps proxy tokens" },
  { resources: ["configmaps"], verbs: readVerbs, because: "finds the proxy's URLs that envFrom may set" },
  ...podRules,
];
