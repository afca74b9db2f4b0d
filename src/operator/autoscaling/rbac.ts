import type { PolicyRule } from "kube-controller-runtime";
import { readVerbs } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  {
    resources: ["pods"],
    verbs: [...readVerbs, "patch"],
    because: "sees which daemons of a pool run, and marks those that are busy",
  },
  {
    resources: ["coderprovisioners.coder.com/status"],
    verbs: ["patch"],
    because: "asks a provisioner for as many daemons as the queue needs",
  },
  {
    resources: ["codercontrolplanes.coder.com/status"],
    verbs: ["patch"],
    because: "reports builds that wait for a daemon",
  },
];
