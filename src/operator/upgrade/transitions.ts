import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import type { Obstacle } from "./preflight.ts";
import { isSameBuild } from "./versions.ts";

/**
 * Target state of the Deployment. `previous` is the complete pod template before the upgrade; `present` is
 * the current template, independent of the spec.
 */
export type Shape =
  | { readonly template: "spec" | "present"; readonly image: string; readonly replicas: number }
  | { readonly template: "previous"; readonly replicas: number };

/** Nothing to do except to apply the Deployment. */
export interface Rest {
  readonly do: "rest";
  readonly shape: Shape;
  /** Message in addition to the text of the stage. */
  readonly message?: string;
  /** Why the upgrade cannot start. */
  readonly obstacles?: readonly Obstacle[];
  readonly recheckMs?: number;
}

export type UpgradePlan =
  | Rest
  /** Query more facts. */
  | { readonly do: "ask"; readonly source: "database" | "builds" | "backup" | "version" }
  /** Store the current pod template. */
  | { readonly do: "remember" }
  /** Announce the upgrade in coderd. */
  | { readonly do: "announce" }
  | { readonly do: "backUp" }
  /** Start a pod that pulls the new image. */
  | { readonly do: "checkImage" }
  /** Record a stage, or change its record. Without a record, the upgrade ends and is forgotten. */
  | { readonly do: "record"; readonly record: UpgradeStatus | undefined };

/** Starts a stage with this record. */
export interface Enter {
  readonly do: "enter";
  readonly stage: UpgradeStage;
  readonly record: UpgradeStatus;
}

/** Decides the next action in a recorded stage. */
export type StagePlan = (facts: UpgradeFacts, record: UpgradeStatus) => UpgradePlan | Enter;

/** Polling interval for changes that no watch reports. */
export const RECHECK_MS = 5_000;

/** No upgrade: the spec applies. */
export function asSpecified({ wanted, replicas }: UpgradeFacts): Rest {
  return { do: "rest", shape: { template: "spec", image: wanted, replicas } };
}

/**
 * Whether a shape may start pods of a different version than the running one, or the first pods after there
 * were none.
 */
export function mayStartOther(
  shape: Shape,
  { present, presentReplicas, settled, record }: UpgradeFacts,
): boolean {
  if (shape.replicas === 0) return false;
  if (present === undefined) return record !== undefined || settled !== undefined;
  const image = shape.template === "previous" ? (record?.from ?? present) : shape.image;
  return presentReplicas === 0 || !isSameBuild(present, image);
}

export function enter(stage: UpgradeStage, record: UpgradeStatus): Enter {
  return { do: "enter", stage, record };
}

/** Clears the failure of the new pod. */
export function clearFailure({ failingSince: _, ...record }: UpgradeStatus): UpgradePlan {
  return { do: "record", record };
}

/** Keeps the old version running. */
export function held({ replicas }: UpgradeFacts, more: Omit<Rest, "do" | "shape"> = {}): Rest {
  return { do: "rest", shape: { template: "previous", replicas }, ...more };
}

/** Stops all pods. */
export function stopped(message: string): Rest {
  return { do: "rest", shape: { template: "previous", replicas: 0 }, message, recheckMs: RECHECK_MS };
}

/** Runs all pods with the new version. */
export function allNew({ replicas }: UpgradeFacts, { to }: UpgradeStatus, message: string | undefined): Rest {
  const shape = { template: "spec", image: to, replicas } as const;
  return { do: "rest", shape, ...(message ? { message } : {}), recheckMs: RECHECK_MS };
}

/** Keeps the pod of the new version that migrates the database unchanged. */
export function migrator(facts: UpgradeFacts, record: UpgradeStatus, message: string | undefined): Rest {
  const rest = oneNew(facts, record, message);
  const { replicas } = rest.shape;
  return { ...rest, shape: { template: "present", image: record.to, replicas } };
}

/** Runs one pod of the new version, unless the spec requests none. */
export function oneNew(facts: UpgradeFacts, record: UpgradeStatus, message: string | undefined): Rest {
  return allNew({ ...facts, replicas: Math.min(1, facts.replicas) }, record, message);
}
