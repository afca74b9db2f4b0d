import type { PolicyRule } from "kube-controller-runtime";
import { readVerbs } from "../permissions/rbac.ts";

export const rules: readonly PolicyRule[] = [
  { resources: ["pods"], verbs: readVerbs, because: "sees which daemons of a pool run" },
  {
    resources: ["codercontrolplanes.coder.com/status"],
    verbs: ["patch"],
    because: "reports builds that wait for a daemon",
  },
];
