import { upgradeDefaults } from "../../api/v1alpha1/defaults.ts";
import type { UpgradeSpec } from "../../api/v1alpha1/upgrade.ts";
import { defined, trimmed } from "../normalize.ts";

/** Where the backup before an upgrade comes from. */
export type BackupSource =
  | { readonly kind: "cronJob"; readonly name: string }
  | {
      readonly kind: "cloudNativePG";
      readonly name: string;
      /** What the Backup says beside its cluster. */
      readonly options: Pick<CloudNativePGSpec, "method" | "pluginConfiguration">;
    };

type CloudNativePGSpec = NonNullable<NonNullable<UpgradeSpec["backup"]>["cloudNativePG"]>;

/** How a control plane is upgraded, with every default filled in. */
export interface UpgradeSettings {
  readonly strategy: "Safe" | "Rolling";
  readonly drainTimeoutMs: number;
  readonly announce: { readonly banner: string | undefined; readonly pausesPrebuilds: boolean };
  readonly backup: (BackupSource & { readonly timeoutMs: number }) | undefined;
}

export function upgradeSettings(spec: UpgradeSpec | undefined): UpgradeSettings {
  return {
    strategy: spec?.strategy ?? upgradeDefaults.strategy,
    drainTimeoutMs: (spec?.drainTimeoutSeconds ?? upgradeDefaults.drainTimeoutSeconds) * 1_000,
    announce: {
      banner: trimmed(spec?.announce?.banner),
      pausesPrebuilds: spec?.announce?.pausePrebuilds ?? false,
    },
    backup: backupSettings(spec?.backup),
  };
}

function backupSettings(spec: UpgradeSpec["backup"]): UpgradeSettings["backup"] {
  const timeoutMs = (spec?.timeoutSeconds ?? upgradeDefaults.backupTimeoutSeconds) * 1_000;
  const cronJob = trimmed(spec?.cronJobName);
  if (cronJob) return { kind: "cronJob", name: cronJob, timeoutMs };
  const { clusterName, method, pluginConfiguration } = spec?.cloudNativePG ?? {};
  const cluster = trimmed(clusterName);
  const options = defined({ method, pluginConfiguration });
  return cluster ? { kind: "cloudNativePG", name: cluster, options, timeoutMs } : undefined;
}
