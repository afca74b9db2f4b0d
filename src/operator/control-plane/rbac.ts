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
  ...workspaceRules({ subject: "coderd", lets: "allows coderd to run workspaces" }),
  {
    resources: ["secrets"],
    verbs: childVerbs,
    because: "reads licenses, database URLs and tokens; stores the operator's token",
  },
  { resources: ["configmaps"], verbs: readVerbs, because: "reads the database URL if envFrom contains it" },
  ...podRules,
  {
    resources: ["controllerrevisions.apps"],
    verbs: childVerbs,
    because: "stores the previous pod template during an upgrade",
  },
  {
    resources: ["pods"],
    verbs: ["create", "patch", "delete"],
    because: "pulls the new image before an upgrade stops the old version",
  },
  {
    resources: ["cronjobs.batch"],
    verbs: ["get"],
    because: "reads the CronJob in spec.upgrade.backup",
  },
  {
    resources: ["clusters.postgresql.cnpg.io"],
    verbs: ["get"],
    because: "checks that the Cluster in spec.upgrade.backup exists",
  },
  {
    resources: ["jobs.batch", "backups.postgresql.cnpg.io"],
    verbs: ["get", "list", "create", "patch"],
    because: "creates a backup before an upgrade and waits for it and for earlier backups",
  },
];
