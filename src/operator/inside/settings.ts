import type { Attempt, Backoff } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { type Inside, NOW_MS, type Obstacle, obstacleOf } from "./coderd.ts";
import type { Change, Setting } from "./kind.ts";

/** How a run brings settings to what the spec wants. */
export interface SettingsRun {
  readonly inside: Inside;
  readonly attempt: Attempt;
  /** The backoff of each setting, so that one that coderd refuses holds up no other. */
  readonly backoffOf: (field: string) => Backoff<CoderFailure>;
  /** Whether differences are only reported. */
  readonly observes: boolean;
  /** Called for each setting that was changed. */
  readonly changed: (field: string) => void;
}

/** Result of a run. */
export interface SettingsOutcome {
  /** The settings that differ and are left as they are. */
  readonly drifted: readonly string[];
  /** The first setting that could not be compared or changed. */
  readonly failed: Obstacle | undefined;
  /** The first that only a part of is in force. */
  readonly partly: Obstacle | undefined;
}

/** Compares settings at coderd one after the other, and makes them as the spec says. What fails stops no other. */
export async function syncSettings(settings: readonly Setting[], run: SettingsRun): Promise<SettingsOutcome> {
  const drifted: string[] = [];
  const failures: Obstacle[] = [];
  const gaps: Obstacle[] = [];
  for (const setting of settings) {
    const entitled = await run.inside.requires(setting.feature);
    const compared = entitled.ok ? await setting.compare(maxAgeOf(setting, run)) : entitled;
    if (!compared.ok) {
      failures.push(compared.failure);
      continue;
    }
    const { change, partly } = compared.value;
    if (partly) gaps.push(partly);
    if (change && run.observes) drifted.push(setting.field);
    const failed = change && !run.observes ? await carryOut(setting, change, run) : undefined;
    if (failed) failures.push(failed);
  }
  return { drifted, failed: failures[0], partly: gaps[0] };
}

/** Whether an attempt that failed had an effect is not known from what was read before it. */
function maxAgeOf({ field }: Setting, { backoffOf }: SettingsRun): number | undefined {
  return backoffOf(field).hasFailed ? NOW_MS : undefined;
}

/** Waits after a failure. A value that coderd accepts and does not keep is also a failure. */
async function carryOut(
  setting: Setting,
  change: Change,
  { attempt, backoffOf, changed }: SettingsRun,
): Promise<Obstacle | undefined> {
  const backoff = backoffOf(setting.field);
  const backedOff = backoff.current(attempt);
  if (backedOff) return obstacleOf(backedOff.failure, backedOff.retryInMs);
  const failure = await failureOf(setting, change);
  if (failure) return obstacleOf(failure, backoff.begin(failure, attempt).retryInMs);
  backoff.end();
  changed(setting.field);
  return undefined;
}

async function failureOf(setting: Setting, change: Change): Promise<CoderFailure | undefined> {
  const made = await change();
  if (!made.ok) return made.failure;
  const compared = await setting.compare(0);
  if (!compared.ok || !compared.value.change) return undefined;
  const message = `coderd accepts ${setting.field} and does not keep all of it; look for what this version does not know.`;
  return { kind: "invalid", message };
}
