import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs, readVerbs, rulesOfKind, workspaceRules } from "../permissions/rbac.ts";
import { rules as upgradeRules } from "./upgrade/rbac.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("codercontrolplanes", "control planes"),
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
  ...workspaceRules("coderd", "lets coderd run workspaces"),
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
  ...upgradeRules,
];
