import type { UpgradeStage, UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import type { UpgradeFacts } from "./facts.ts";
import type { Obstacle } from "./preflight.ts";
import { isSameBuild } from "./versions.ts";

/**
 * What the Deployment is to be. `previous` is the complete pod template of before the upgrade, `present` the one that it has,
 * whatever the spec says by now.
 */
export type Shape =
  | { readonly template: "spec" | "present"; readonly image: string; readonly replicas: number }
  | { readonly template: "previous"; readonly replicas: number };

/** Nothing is to be done now, but to bring the Deployment to its shape. */
export interface Rest {
  readonly do: "rest";
  readonly shape: Shape;
  /** What there is to say beside the stage. */
  readonly message?: string;
  /** Why the upgrade can't begin. */
  readonly obstacles?: readonly Obstacle[];
  readonly lookAgainMs?: number;
}

export type UpgradePlan =
  | Rest
  /** Find out more. */
  | { readonly do: "ask"; readonly whom: "database" | "builds" | "backup" | "version" }
  /** Keep the pod template as it is now. */
  | { readonly do: "remember" }
  /** Tell people at coderd. */
  | { readonly do: "announce" }
  | { readonly do: "backUp" }
  /** Start a pod that pulls the new image. */
  | { readonly do: "checkImage" }
  /** Record a stage, or change what is recorded of it. Without a record the upgrade ends without a trace. */
  | { readonly do: "record"; readonly record: UpgradeStatus | undefined };

/** The upgrade enters a stage with this record. */
export interface Enter {
  readonly do: "enter";
  readonly stage: UpgradeStage;
  readonly record: UpgradeStatus;
}

/** What to do in a stage that is recorded. */
export type StagePlan = (facts: UpgradeFacts, record: UpgradeStatus) => UpgradePlan | Enter;

/** How soon is looked again at what no watch reports. */
export const LOOK_AGAIN_MS = 5_000;

/** Nothing is upgraded: the spec holds. */
export function asSpecified({ wanted, replicas }: UpgradeFacts): Rest {
  return { do: "rest", shape: { template: "spec", image: wanted, replicas } };
}

/** Whether a shape may start pods of another version than those that run, or the first ones after there were none. */
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

/** The new pod does not fail any more. */
export function calm({ failingSince: _, ...record }: UpgradeStatus): UpgradePlan {
  return { do: "record", record };
}

/** The old version goes on serving. */
export function held({ replicas }: UpgradeFacts, more: Omit<Rest, "do" | "shape"> = {}): Rest {
  return { do: "rest", shape: { template: "previous", replicas }, ...more };
}

/** No pod at all. */
export function stopped(message: string): Rest {
  return { do: "rest", shape: { template: "previous", replicas: 0 }, message, lookAgainMs: LOOK_AGAIN_MS };
}

/** All pods of the new version. */
export function allNew({ replicas }: UpgradeFacts, { to }: UpgradeStatus, message: string | undefined): Rest {
  const shape = { template: "spec", image: to, replicas } as const;
  return { do: "rest", shape, ...(message ? { message } : {}), lookAgainMs: LOOK_AGAIN_MS };
}

/** The pod of the new version that migrates the database, exactly as it was started. */
export function migrator(facts: UpgradeFacts, record: UpgradeStatus, message: string | undefined): Rest {
  const rest = oneNew(facts, record, message);
  const { replicas } = rest.shape;
  return { ...rest, shape: { template: "present", image: record.to, replicas } };
}

/** One pod of the new version, unless the spec wants none. */
export function oneNew(facts: UpgradeFacts, record: UpgradeStatus, message: string | undefined): Rest {
  return allNew({ ...facts, replicas: Math.min(1, facts.replicas) }, record, message);
}
