import { type ConditionState, findCondition, type StepResult } from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { controlPlaneConditions } from "../conditions.ts";
import { trimmed } from "../normalize.ts";
import { accessProblem, type UpgradeFacts } from "./facts.ts";
import { gatherFacts } from "./gather.ts";
import { askBackup, type UpgradeRun } from "./observe.ts";
import { obstacles } from "./preflight.ts";
import { isRunning, knownVersion, skippedMinors, versionOfImage } from "./versions.ts";

/**
 * Contains an image. Condition `UpgradePossible` reports whether an upgrade to it could start. An optional
 * second word is repeated at the end of the message, so that clients can recognize the response to their
 * request.
 */
export const CHECK_ANNOTATION = "coder.com/check-upgrade";

/** A result is valid for this time, unless the annotation changes. */
const ANSWER_MS = 60_000;

/** Limits of the annotation. No image name is longer. */
const MAX_IMAGE_LENGTH = 512;
const MAX_REQUEST_LENGTH = 64;

/** Reports whether an upgrade could start, without changing anything. */
export async function checkUpgrade(run: UpgradeRun): Promise<StepResult<ControlPlaneStatus>> {
  const { snapshot, environment } = run;
  const { annotations } = snapshot.object.metadata;
  const question = trimmed(annotations?.[CHECK_ANNOTATION]?.slice(0, MAX_IMAGE_LENGTH + MAX_REQUEST_LENGTH));
  const { memory } = environment;
  if (!question) {
    delete memory.upgradeCheck;
    return { noCondition: true };
  }
  const last = memory.upgradeCheck;
  const ageMs = last?.question === question ? snapshot.now - last.at : ANSWER_MS;
  if (last && ageMs >= 0 && ageMs < ANSWER_MS)
    return { condition: last.condition, requeueAfterMs: ANSWER_MS - ageMs };
  const [image = "", request] = question.split(/\s+/);
  const condition = signed(await answer(image.slice(0, MAX_IMAGE_LENGTH), run), request);
  memory.upgradeCheck = { question, at: snapshot.now, condition };
  return { condition, requeueAfterMs: ANSWER_MS };
}

function signed(condition: ConditionState, request: string | undefined): ConditionState {
  if (!request) return condition;
  return {
    ...condition,
    message: `${condition.message} ${answerMark(request.slice(0, MAX_REQUEST_LENGTH))}`,
  };
}

/** The end of the response to a request. */
export function answerMark(request: string): string {
  return `Request "${request}".`;
}

async function answer(to: string, run: UpgradeRun): Promise<ConditionState> {
  const before = gatherFacts(run.snapshot);
  const from = before.settled ?? before.present ?? to;
  if (isRunning(to, { image: from, version: before.version }))
    return {
      status: "True",
      reason: "SameVersion",
      message: `Image "${to}" has the version that is already running.`,
    };
  const stage = { stage: "Preflight", from, to, startedAt: "", since: "" } as const;
  const asked = { ...(await run.ask.database()), ...(await askBackup(run, { ...before, record: stage })) };
  const facts = { ...before, ...asked };
  const found = obstacles({ ...facts, from, to });
  const [first] = found;
  const notes = [...jump({ from, to, version: facts.version }), ...warnings(facts, run)].join(" ");
  if (first) {
    const message = [`An upgrade to "${to}" cannot start.`, ...found.map((each) => each.message), notes];
    return { status: "False", reason: first.reason, message: message.join(" ").trim() };
  }
  const message = `An upgrade from "${from}" to "${to}" can start. ${notes}`.trim();
  return { status: "True", reason: "CheckPassed", message };
}

/** Warning for an upgrade that skips minor versions. */
function jump({ from, to, version }: { from: string; to: string; version: string | undefined }): string[] {
  const skipped = skippedMinors(knownVersion(from, version), versionOfImage(to));
  if (!skipped) return [];
  const { first, last, number } = skipped;
  const which = number === 1 ? `version ${first}` : `${number} minor versions, ${first} to ${last}`;
  return [
    `The upgrade skips ${which}: coderd applies their migrations as well, in one transaction. Before you upgrade, read the "Breaking changes" of each version at https://github.com/coder/coder/releases, and create a backup.`,
  ];
}

/** Warnings that do not block an upgrade. */
function warnings(facts: UpgradeFacts, { snapshot }: UpgradeRun): string[] {
  const why = accessProblem(facts);
  const healthy = findCondition(snapshot.object.status?.conditions, controlPlaneConditions.health.type);
  return [
    ...(facts.pods.ready === 0 ? ["No coderd pod is ready."] : []),
    ...(healthy?.status === "False" ? ["coderd reports health problems; see condition Healthy."] : []),
    ...(why ? [`${why} Therefore, a failed upgrade is not rolled back automatically.`] : []),
    ...(facts.settings.backup ? [] : ["No backup is created because spec.upgrade.backup is not set."]),
  ];
}
