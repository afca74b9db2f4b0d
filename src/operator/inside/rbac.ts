import type { PolicyRule } from "kube-controller-runtime";
import { readVerbs, rulesOfKind } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("coderorganizations", "organizations"),
  ...rulesOfKind("codergroups", "groups"),
  {
    resources: ["codercontrolplanes.coder.com", "secrets", "configmaps", "services"],
    verbs: readVerbs,
    because: "reaches coderd to keep what objects describe inside of it",
  },
];
