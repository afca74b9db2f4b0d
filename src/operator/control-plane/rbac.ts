import type { PolicyRule } from "kube-controller-runtime";
import {
  childVerbs,
  exposureRules,
  podRules,
  readVerbs,
  rulesOfKind,
  workspaceRules,
} from "../workload/rbac/rules.ts";

export const rules: readonly PolicyRule[] = [
  ...rulesOfKind("codercontrolplanes", "control planes"),
  {
    resources: ["deployments.apps", "services", "serviceaccounts"],
    verbs: childVerbs,
    because: "runs coderd",
  },
  ...exposureRules("coderd"),
  ...workspaceRules({ whom: "coderd", lets: "lets coderd run workspaces" }),
  {
    resources: ["secrets"],
    verbs: childVerbs,
    because: "reads licenses, database URLs and tokens; keeps the operator's token",
  },
  { resources: ["configmaps"], verbs: readVerbs, because: "finds the database URL that envFrom may name" },
  ...podRules,
  {
    resources: ["controllerrevisions.apps"],
    verbs: childVerbs,
    because: "keeps the pod template of before an upgrade",
  },
  {
    resources: ["pods"],
    verbs: ["create", "patch", "delete"],
    because: "pulls the image of an upgrade before the old version is stopped",
  },
  {
    resources: ["cronjobs.batch"],
    verbs: ["get"],
    because: "reads the CronJob that spec.upgrade.backup names",
  },
  {
    resources: ["clusters.postgresql.cnpg.io"],
    verbs: ["get"],
    because: "checks that the Cluster exists that spec.upgrade.backup names",
  },
  {
    resources: ["jobs.batch", "backups.postgresql.cnpg.io"],
    verbs: ["get", "list", "create", "patch"],
    because: "makes a backup before an upgrade, and waits for it and for those of earlier attempts",
  },
];
