import { type ConditionState, timestamp } from "kube-controller-runtime";
import { explainWaiting } from "./explain.ts";
import type { WaitCause, WaitingJobs } from "./waiting.ts";

/** A build may wait so long before it is worth a word: a daemon starts within seconds. */
const WORTH_A_WORD_MS = 60_000;
const MOST_GROUPS = 3;

const REASONS: Readonly<Record<WaitCause["kind"], string>> = {
  noPool: "NoMatchingProvisioner",
  atMaximum: "AtMaximum",
  unschedulable: "Unschedulable",
  held: "ScalingHeld",
  offline: "DaemonsOffline",
  starting: "DaemonsStarting",
  due: "NotTaken",
};

/** Whether builds wait for longer than they should, since when, for which tags and why. */
export function buildsServed(waiting: readonly WaitingJobs[], now: number): ConditionState {
  const late = waiting.filter(
    ({ since, cause }) => cause.kind === "noPool" || now - since >= WORTH_A_WORD_MS,
  );
  const [first] = late;
  if (!first) return { status: "True", reason: "Served", message: "No build waits for a daemon." };
  const stories = late.slice(0, MOST_GROUPS).map((group) => explainWaiting(group));
  const rest = late.slice(MOST_GROUPS).reduce((sum, { count }) => sum + count, 0);
  const more = rest > 0 ? [`${rest} more wait.`] : [];
  return { status: "False", reason: REASONS[first.cause.kind], message: [...stories, ...more].join(" ") };
}

/** Nobody knows whether builds wait. */
export function queueUnknown(message: string, since: number): ConditionState {
  return {
    status: "Unknown",
    reason: "QueueUnknown",
    message: `coderd was not to be asked for its queue since ${timestamp(since)}: ${message}`,
  };
}
