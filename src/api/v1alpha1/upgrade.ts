import { upgradeDefaults } from "./defaults.ts";
import { maxBannerLength, maxUpgradeHosts } from "./limits.ts";
import { objectName } from "./names.ts";
import {
  atomic,
  choice,
  flag,
  int32,
  int64,
  list,
  object,
  optional,
  rules,
  type Static,
  stringMap,
  text,
  time,
  word,
} from "./schema.ts";

const DAY_SECONDS = 86_400;

const backup = object(
  "Backup of the database to make before the upgrade. If the backup fails, the upgrade does not start.",
  {
    cloudNativePG: optional(
      object(
        "Creates a Backup of a CloudNativePG cluster.",
        {
          clusterName: objectName("Name of a Cluster (postgresql.cnpg.io) in the same namespace."),
          method: optional(
            choice(
              "Backup method. Defaults to the default of CloudNativePG, which is the deprecated barmanObjectStore.",
              ["barmanObjectStore", "volumeSnapshot", "plugin"],
            ),
          ),
          pluginConfiguration: optional(
            object("Plugin that makes the backup. Required if method is plugin.", {
              name: objectName("Name of the plugin, such as barman-cloud.cloudnative-pg.io."),
              parameters: optional(stringMap("Parameters of the plugin.")),
            }),
          ),
        },
        rules({
          rule: "(has(self.method) && self.method == 'plugin') == has(self.pluginConfiguration)",
          message: "pluginConfiguration is required if, and only if, method is plugin",
        }),
      ),
    ),
    cronJobName: optional(
      objectName(
        "Name of a CronJob in the same namespace. The operator creates a Job from it, as `kubectl create job --from` does.",
      ),
    ),
    timeoutSeconds: optional(
      int32("Seconds after which an incomplete backup is considered failed.", {
        default: upgradeDefaults.backupTimeoutSeconds,
        minimum: 1,
        maximum: DAY_SECONDS,
      }),
    ),
  },
  rules({
    rule: "has(self.cronJobName) != has(self.cloudNativePG)",
    message: "must specify exactly one of cronJobName and cloudNativePG",
  }),
);

const announce = object(
  "What coderd announces during the upgrade. Requires a license and operator access. Without them, the upgrade continues without an announcement.",
  {
    banner: optional(
      text("Markdown message of a banner in Coder's dashboard.", {
        minLength: 1,
        maxLength: maxBannerLength,
      }),
    ),
    pausePrebuilds: optional(
      flag("Pauses prebuilds. Prebuilds that were already paused stay paused after the upgrade."),
    ),
  },
);

export const upgrade = object(
  "How to upgrade when `image` changes to another version.",
  {
    announce: optional(announce),
    backup: optional(backup),
    drainTimeoutSeconds: optional(
      int32("Seconds to wait for running builds before coderd is stopped. 0 disables waiting.", {
        default: upgradeDefaults.drainTimeoutSeconds,
        minimum: 0,
        maximum: DAY_SECONDS,
      }),
    ),
    strategy: optional(
      choice(
        "Safe stops all pods of the old version before a pod of the new version migrates the database, and rolls back automatically if that is safe. Rolling replaces the pods one by one, like any other change.",
        ["Safe", "Rolling"],
        { default: upgradeDefaults.strategy },
      ),
    ),
  },
  { default: {} },
);
export type UpgradeSpec = Static<typeof upgrade>;

/** Stages of an upgrade in their normal order, followed by the failure stages. */
export const upgradeStages = [
  "Preflight",
  "Draining",
  "BackingUp",
  "ScalingDown",
  "Migrating",
  "Verifying",
  "ScalingOut",
  "Followers",
  "Completed",
  "BackupFailed",
  "RollingBack",
  "RolledBack",
  "Stuck",
] as const;
export type UpgradeStage = (typeof upgradeStages)[number];

export const upgradeStatus = object("The current or most recent upgrade.", {
  backup: optional(text("Name of the Job or Backup that was created for the upgrade.")),
  downSince: optional(time("Time at which the operator began to stop the pods of the old version.")),
  failingSince: optional(time("Time since which the pod of the new version has been failing.")),
  follower: optional(text("Provisioner or proxy that received the new image last.")),
  followerSince: optional(time("Time at which the follower received the new image.")),
  from: text("Image before the upgrade."),
  fromVersion: optional(text("Version that coderd reported before the upgrade.")),
  generation: optional(int64("Generation of the spec whose backup failed.")),
  hosts: optional(
    list("Host names of the replicas that the upgrade has stopped.", text("Host name."), {
      ...atomic,
      maxItems: maxUpgradeHosts,
    }),
  ),
  imageVersion: optional(text("Version that the new image reported before the old pods were stopped.")),
  message: optional(text("Human-readable explanation of the outcome.")),
  migratingSince: optional(time("Time at which a pod of the new version was first started.")),
  previous: optional(text("Name of the ControllerRevision that stores the previous pod template.")),
  pulledAt: optional(time("Time at which a node had pulled the new image.")),
  schemaBefore: optional(int64("Version of the database schema before the upgrade.")),
  schemaChanged: optional(flag("Whether the schema had changed after a pod of an earlier attempt ended.")),
  servedAgain: optional(time("Time at which a pod of the new version became ready.")),
  since: time("Time at which this stage began."),
  started: optional(text("Image of the most recent pod that was started to migrate the database.")),
  stage: word<UpgradeStage>(`Stage of the upgrade: ${upgradeStages.join(", ")}.`),
  startedAt: time("Time at which the upgrade began."),
  to: text("Target image of the upgrade."),
  toVersion: optional(text("Version that coderd reported after the upgrade.")),
});
export type UpgradeStatus = Static<typeof upgradeStatus>;

const noticeFields = {
  message: optional(text("Human-readable explanation of why the announcement was skipped.")),
  state: word<"Announcing" | "Announced" | "Skipped">(
    "Announcing until coderd confirms the change, then Announced. Skipped if the operator made no change.",
  ),
};

export const announcementStatus = object(
  "Announcements of the upgrade in coderd. Each entry is removed after the previous state is restored.",
  {
    banner: optional(
      object("The banner.", {
        ...noticeFields,
        text: optional(text("Message of the banner.")),
      }),
    ),
    prebuilds: optional(object("Pause of prebuilds.", noticeFields)),
  },
);
export type AnnouncementStatus = Static<typeof announcementStatus>;
