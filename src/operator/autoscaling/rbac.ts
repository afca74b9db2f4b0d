import type { PolicyRule } from "kube-controller-runtime";
import { readVerbs } from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  {
    resources: ["pods"],
    verbs: [...readVerbs, "patch"],
    because: "watches the pods of a pool and marks those with busy daemons",
  },
  {
    resources: ["coderprovisioners.coder.com/status"],
    verbs: ["patch"],
    because: "sets the number of daemons that the queue requires",
  },
  {
    resources: ["codercontrolplanes.coder.com/status"],
    verbs: ["patch"],
    because: "reports builds that are waiting for a daemon",
  },
];
