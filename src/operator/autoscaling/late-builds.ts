import { type ConditionState, timestamp } from "kube-controller-runtime";
import { MAX_JOBS } from "../../coder/provisioning.ts";
import { explainStranded, explainWaiting } from "./explain.ts";
import type { StrandedJobs } from "./stranded.ts";
import type { WaitCause, WaitingJobs } from "./waiting.ts";

/** Time that a build may wait before it is reported, because a daemon starts within seconds. */
const REPORT_AFTER_MS = 60_000;
const MAX_GROUPS = 3;

const REASONS: Readonly<Record<WaitCause["kind"], string>> = {
  noPool: "NoMatchingProvisioner",
  atMaximum: "AtMaximum",
  unschedulable: "Unschedulable",
  held: "ScalingHeld",
  failing: "PodsNotReady",
  offline: "DaemonsOffline",
  starting: "DaemonsStarting",
  otherVersion: "VersionSkew",
  due: "NotTaken",
};

/** For builds that coderd lists as running on a daemon that has ended. */
const LOST = "DaemonsLost";

/** Causes that do not resolve without a user. */
const PERMANENT_CAUSES: ReadonlySet<string> = new Set(["noPool", "failing"]);

/** Builds of one organization that wait or are lost, summarized in a few sentences. */
export interface LateBuilds {
  /** The longest waiting groups first. */
  readonly groups: readonly LateGroup[];
  /** Number of other waiting builds. */
  readonly more: number;
  /** Whether older builds may be waiting that coderd does not list. */
  readonly isCut: boolean;
}

interface LateGroup {
  readonly count: number;
  readonly since: number;
  readonly reason: string;
  readonly story: string;
}

export const noLateBuilds: LateBuilds = { groups: [], more: 0, isCut: false };

export function lateBuilds(
  waiting: readonly WaitingJobs[],
  { stranded = [], isCut }: { readonly stranded?: readonly StrandedJobs[]; readonly isCut: boolean },
  now: number,
): LateBuilds {
  const late = waiting.filter(
    ({ since, cause }) => PERMANENT_CAUSES.has(cause.kind) || now - since >= REPORT_AFTER_MS,
  );
  const groups = late.slice(0, MAX_GROUPS).map((group) => ({
    count: group.count,
    since: group.since,
    reason: REASONS[group.cause.kind],
    story: explainWaiting(group),
  }));
  const reported = new Set(late.map(({ cause }) => (cause.kind === "failing" ? cause.problem : undefined)));
  const isReported = ({ end }: StrandedJobs) => typeof end === "object" && reported.has(end.problem);
  const lost = stranded.slice(0, MAX_GROUPS).map((group) => ({
    count: group.count,
    since: group.since,
    reason: LOST,
    story: explainStranded(group, isReported(group)),
  }));
  return { groups: [...groups, ...lost], more: sumOf(late.slice(MAX_GROUPS)), isCut };
}

/** Reports whether builds of any organization wait too long, since when, for which tags and why. */
export function buildsServed(all: readonly LateBuilds[]): ConditionState {
  const groups = all.flatMap((each) => each.groups).toSorted(byUrgency);
  const isCut = all.some((each) => each.isCut);
  const [first] = groups;
  if (!first && !isCut)
    return { status: "True", reason: "Served", message: "No builds are waiting for a daemon." };
  const more = all.reduce((sum, each) => sum + each.more, sumOf(groups.slice(MAX_GROUPS)));
  const sentences = [
    ...groups.slice(0, MAX_GROUPS).map(({ story }) => story),
    ...(more > 0 ? [`${more} more are waiting.`] : []),
    ...(isCut
      ? [
          `coderd lists only the newest ${MAX_JOBS} unfinished builds of an organization; older builds may be waiting.`,
        ]
      : []),
  ];
  return { status: "False", reason: first?.reason ?? "QueueTooLong", message: sentences.join(" ") };
}

/** Waiting builds before lost ones, the oldest first. */
function byUrgency(a: LateGroup, b: LateGroup): number {
  return Number(a.reason === LOST) - Number(b.reason === LOST) || a.since - b.since;
}

function sumOf(groups: readonly { readonly count: number }[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** It is unknown whether builds are waiting. */
export function queueUnknown(message: string, since: number): ConditionState {
  return {
    status: "Unknown",
    reason: "QueueUnknown",
    message: `coderd's build queue has been unavailable since ${timestamp(since)}: ${message}`,
  };
}
