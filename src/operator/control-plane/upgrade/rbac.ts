import type { PolicyRule } from "kube-controller-runtime";
import { childVerbs } from "../../permissions/rbac.ts";

export const rules: readonly PolicyRule[] = [
  {
    resources: ["controllerrevisions.apps"],
    verbs: childVerbs,
    because: "keeps the pod template of before an upgrade",
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
    verbs: ["get", "create", "patch"],
    because: "makes a backup before an upgrade and waits for it",
  },
];
