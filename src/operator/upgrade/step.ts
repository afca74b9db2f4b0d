import { Backoff, type Changes, type StepResult, settle } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import type { UpgradeStatus } from "../../api/v1alpha1/upgrade.ts";
import { announce } from "./announce/announce.ts";
import { type UpgradeState, upgradeEffect } from "./effect.ts";
import type { UpgradeFacts } from "./facts.ts";
import { gatherFacts } from "./gather.ts";
import { removeLeftovers } from "./leftovers.ts";
import type { UpgradeRun } from "./observe.ts";
import { type PodTemplate, previousTemplate, templateOf } from "./previous-template.ts";
import { podsDuringUpgrade, upgradeCondition } from "./report.ts";
import { isReplacingPods, isUpgrading } from "./stages.ts";
import type { Shape } from "./transitions.ts";
import { isAnotherVersion } from "./versions.ts";

/** A shape with everything needed to apply it. */
type PossibleShape =
  | { readonly template: "spec"; readonly image: string; readonly replicas: number }
  | { readonly template: PodTemplate; readonly replicas: number };

/** How to apply the Deployment in this reconcile. */
export interface PodPlan {
  readonly shape: PossibleShape;
  /** Changes of the status to record after the Deployment was applied. */
  readonly settles: Changes<Pick<ControlPlaneStatus, "image" | "version">>;
  /** Whether the pod template must not change. */
  readonly isFrozen: boolean;
  /** Whether an upgrade replaces the pod template, so that a guard can be added to it. */
  readonly isUpgrading: boolean;
  /** Whether an upgrade is replacing pods. A paused Deployment would start old pods again. */
  readonly isReplacing: boolean;
  /** Condition of the pods while they differ from the spec. */
  readonly report: ReturnType<typeof podsDuringUpgrade>;
}

/** A new spec triggers a reconcile, but a record by another process does not. */
const OVERTAKEN_MS = 5_000;

/**
 * Advances an upgrade as far as possible, and decides how to apply the Deployment. Without a value, the
 * Deployment must not change in this reconcile.
 */
export async function ensureUpgrade(run: UpgradeRun): Promise<StepResult<ControlPlaneStatus, PodPlan>> {
  const { snapshot } = run;
  const start: UpgradeState = { facts: gatherFacts(snapshot), isFresh: false };
  const backoff = new Backoff<never>(() => ({ ms: 0, endsOnChange: true }));
  const options = { inputs: "", now: snapshot.now, backoff };
  const { end, plan, state } = await settle(upgradeEffect(run), start, options);
  if (end !== "settled" || plan.do !== "rest") return { requeueAfterMs: OVERTAKEN_MS };
  const { record } = state.facts;
  const announced = await announce(run, record);
  if (!announced) return { requeueAfterMs: OVERTAKEN_MS };
  await removeLeftovers(record, run);
  const kept = snapshot.upgrade.revisions.find(({ metadata }) => metadata.name === record?.previous);
  const previous = state.template ?? (kept && templateOf(kept));
  const { shape, note } = possible(plan.shape, { record, previous, run });
  const message = [note, announced.note, plan.message ?? record?.message].filter(Boolean).join(" ");
  const condition = upgradeCondition({ ...plan, message }, record);
  const requeueAfterMs = Math.min(plan.recheckMs ?? Number.POSITIVE_INFINITY, announced.requeueAfterMs);
  return {
    ...(condition ? { condition } : { noCondition: true }),
    ...(requeueAfterMs < Number.POSITIVE_INFINITY ? { requeueAfterMs } : {}),
    value: {
      shape,
      settles: settled(plan.shape, state.facts),
      isFrozen: plan.shape.template === "present",
      isUpgrading: isUpgrading(record),
      isReplacing: isReplacingPods(record),
      report: podsDuringUpgrade(condition, record),
    },
  };
}

interface Kept {
  readonly record: UpgradeStatus | undefined;
  readonly previous: PodTemplate | undefined;
  readonly run: UpgradeRun;
}

/**
 * The shape with the stored template. If the template was deleted, terminating pods keep the present
 * template, and the old version returns with the current spec.
 */
function possible(
  shape: Shape,
  { record, previous, run: { snapshot } }: Kept,
): { readonly shape: PossibleShape; readonly note?: string } {
  // Without a Deployment, there is no template to keep, so the spec applies.
  if (shape.template !== "previous") return { shape: { ...shape, template: "spec" } };
  const { replicas } = shape;
  if (previous) return { shape: { template: previous, replicas } };
  const { deployment, controlPlane } = snapshot;
  const present = deployment && templateOf(previousTemplate(controlPlane, deployment));
  if (replicas === 0 && present) return { shape: { template: present, replicas } };
  const note = "The previous pod template no longer exists, so the old image runs with the current spec.";
  return { shape: { template: "spec", image: record?.from ?? controlPlane.image, replicas }, note };
}

/**
 * The image and version without an upgrade; an upgrade records them with its stages. The version of a new
 * image is unknown until coderd reports it.
 */
function settled(
  shape: Shape,
  { record, settled: before }: UpgradeFacts,
): Changes<Pick<ControlPlaneStatus, "image" | "version">> {
  if (shape.template !== "spec" || isUpgrading(record)) return {};
  const isOther = before !== undefined && isAnotherVersion(before, shape.image);
  return { image: shape.image, ...(isOther ? { version: undefined } : {}) };
}
