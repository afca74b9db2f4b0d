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
  "A backup of the database to make before anything is changed. When it fails, the upgrade does not begin.",
  {
    cloudNativePG: optional(
      object(
        "Makes a Backup of a CloudNativePG cluster.",
        {
          clusterName: objectName("Name of the Cluster (postgresql.cnpg.io), in the object's namespace."),
          method: optional(
            choice(
              "How the backup is made; absent leaves it to CloudNativePG. Its default barmanObjectStore is deprecated.",
              ["barmanObjectStore", "volumeSnapshot", "plugin"],
            ),
          ),
          pluginConfiguration: optional(
            object("The plugin that makes the backup, for method plugin.", {
              name: objectName("Name of the plugin, such as barman-cloud.cloudnative-pg.io."),
              parameters: optional(stringMap("Parameters of the plugin.")),
            }),
          ),
        },
        rules({
          rule: "(has(self.method) && self.method == 'plugin') == has(self.pluginConfiguration)",
          message: "pluginConfiguration and method plugin need each other",
        }),
      ),
    ),
    cronJobName: optional(
      objectName("Name of a CronJob in the object's namespace. A Job is made from it, as kubectl would."),
    ),
    timeoutSeconds: optional(
      int32("Seconds after which a backup that is not complete counts as failed.", {
        default: upgradeDefaults.backupTimeoutSeconds,
        minimum: 1,
        maximum: DAY_SECONDS,
      }),
    ),
  },
  rules({
    rule: "has(self.cronJobName) != has(self.cloudNativePG)",
    message: "give either cronJobName or cloudNativePG",
  }),
);

const announce = object(
  "What coderd announces during the upgrade. Both need a license and operator access; without them, the upgrade goes on unannounced.",
  {
    banner: optional(
      text("Message of a banner that people see in Coder's dashboard, as Markdown.", {
        minLength: 1,
        maxLength: maxBannerLength,
      }),
    ),
    pausePrebuilds: optional(
      flag("Whether to pause prebuilds. Prebuilds that were paused before the upgrade stay paused."),
    ),
  },
);

export const upgrade = object(
  "What happens when `image` changes to another version.",
  {
    announce: optional(announce),
    backup: optional(backup),
    drainTimeoutSeconds: optional(
      int32("Seconds for which running builds may finish before coderd is stopped; 0 waits for none.", {
        default: upgradeDefaults.drainTimeoutSeconds,
        minimum: 0,
        maximum: DAY_SECONDS,
      }),
    ),
    strategy: optional(
      choice(
        "Safe stops all pods of the old version before one of the new version migrates the database, and goes back by itself where that is safe. Rolling replaces pods one by one as for any other change.",
        ["Safe", "Rolling"],
        { default: upgradeDefaults.strategy },
      ),
    ),
  },
  { default: {} },
);
export type UpgradeSpec = Static<typeof upgrade>;

/** Where an upgrade is, in the order of a life without trouble, and how it may end. */
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

export const upgradeStatus = object("The upgrade that is in progress, or the last one.", {
  backup: optional(text("Name of the Job or Backup that was made for it.")),
  downSince: optional(time("When the operator began to stop the pods of the old version.")),
  failingSince: optional(time("Since when the pod of the new version has failed.")),
  follower: optional(text("The provisioner or proxy that was given the new image last.")),
  followerSince: optional(time("When that was.")),
  from: text("Image before the upgrade."),
  fromVersion: optional(text("Version that coderd reported before the upgrade.")),
  generation: optional(int64("Generation of the spec whose backup failed.")),
  hosts: optional(
    list("Host names of the replicas that the upgrade has stopped.", text("Host name."), {
      ...atomic,
      maxItems: maxUpgradeHosts,
    }),
  ),
  imageVersion: optional(text("Version that the new image printed before the old pods were stopped.")),
  message: optional(text("Why the upgrade ended where it is.")),
  migratingSince: optional(time("When a pod of the new version was started for the first time.")),
  previous: optional(text("Name of the ControllerRevision that holds the pod template before the upgrade.")),
  pulledAt: optional(time("When a node had pulled the new image.")),
  schemaBefore: optional(int64("Version of the database schema before the upgrade.")),
  schemaChanged: optional(
    flag("Whether the schema was seen changed after a pod of an earlier attempt had ended."),
  ),
  servedAgain: optional(time("When a pod of the new version served.")),
  since: time("When this stage began."),
  started: optional(text("Image of the last pod that was started to migrate the database.")),
  stage: word<UpgradeStage>(`Stage of the upgrade: ${upgradeStages.join(", ")}.`),
  startedAt: time("When the upgrade began."),
  to: text("Image that the upgrade leads to."),
  toVersion: optional(text("Version that coderd reported after the upgrade.")),
});
export type UpgradeStatus = Static<typeof upgradeStatus>;

const noticeFields = {
  message: optional(text("Why the upgrade is not announced in this way.")),
  state: word<"Announcing" | "Announced" | "Skipped">(
    "Announcing from before coderd is asked, Announced once coderd has confirmed it, Skipped where the operator does nothing.",
  ),
};

export const announcementStatus = object(
  "What an upgrade announces at coderd. Each part goes when coderd is as it was before.",
  {
    banner: optional(
      object("The banner.", {
        ...noticeFields,
        text: optional(text("Message of the banner that the operator adds and removes.")),
      }),
    ),
    prebuilds: optional(object("The pause of prebuilds.", noticeFields)),
  },
);
export type AnnouncementStatus = Static<typeof announcementStatus>;
