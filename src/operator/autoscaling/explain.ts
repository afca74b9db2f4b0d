import { timestamp } from "kube-controller-runtime";
import { MAX_JOBS, type Tags } from "../../coder/provisioning.ts";
import { distinctiveTags } from "../../coder/tags.ts";
import { firstOf } from "../first-of.ts";
import type { Decision } from "./decide.ts";
import { highestOf } from "./pool.ts";
import type { DaemonEnd, StrandedJobs } from "./stranded.ts";
import type { WaitCause, WaitingJobs } from "./waiting.ts";

const MAX_TAGS = 8;
const MAX_TAG_LENGTH = 64;

/** Explains the number of daemons. */
export function explainDecision(decision: Decision): string {
  const { pool, replicas, census, pending } = decision;
  const daemons = counted(replicas, "daemon");
  const load = `${census?.busy ?? 0} busy, ${counted(pending, "build")} waiting, ${pool.minIdle} reserved idle`;
  switch (decision.cause) {
    case "following":
      return `Needs ${daemons}: ${load}${limits(decision)}.`;
    case "delayed":
      return `Keeps ${daemons} for now (${load}): ${highestOf(decision.history)} were needed within the last ${pool.scaleDownDelayMs / 1_000} s.`;
    case "working":
      return `Keeps ${daemons} for now (${load}): the others are not idle.`;
    case "rollingOut":
      return `Keeps ${daemons} until the rollout completes (${load}).`;
    case "exposed":
      return `Keeps ${daemons} for now (${load}): pods of busy daemons are not ready, and Kubernetes deletes these pods first.`;
    case "cut":
      return `Keeps ${daemons} for now (${load}): coderd lists only the newest ${MAX_JOBS} unfinished builds, and older builds may be waiting.`;
    case "unschedulable":
      return `Stays at ${daemons} (${load}): existing pods cannot be scheduled. Add nodes or reduce the resource requests.`;
    case "held":
      return `Stays at ${daemons}: ${pool.held}.`;
    case "blind":
      return `Stays at ${daemons}: coderd's build queue is unavailable; see condition BuildsServed of the control plane.`;
    case "capped":
      return `Needs ${daemons}, the maximum: coderd's build queue is unavailable; see condition BuildsServed of the control plane.`;
    case "fallback":
      return `Needs ${daemons}, the fallback: coderd's build queue is unavailable; see condition BuildsServed of the control plane.`;
  }
}

function limits({ demand = 0, replicas, pool }: Decision): string {
  if (demand > replicas) return `, limited by the maximum of ${pool.max}`;
  if (demand >= replicas) return "";
  return pool.min > demand ? `, raised to the minimum of ${pool.min}` : ", 1 reserved for a scheduled build";
}

/**
 * Explains since when and why builds are waiting, and what to do. Changes only with the facts, not with time.
 */
export function explainWaiting({ tags, count, since, cause }: WaitingJobs): string {
  const wait = count === 1 ? "1 build has been waiting" : `${count} builds are waiting, the first`;
  const story = `${wait} since ${timestamp(since)} for a daemon with the tags ${tagList(tags)}: ${explainCause(cause)}`;
  // A pod failure ends with a command to copy.
  return cause.kind === "failing" ? story : `${story}.`;
}

function explainCause(cause: WaitCause): string {
  switch (cause.kind) {
    case "noPool":
      if (!cause.nearest) return "no provisioner has exactly these tags; add one";
      return `no provisioner has all of them; the closest match, "${cause.nearest.pool}", lacks ${tagList(cause.nearest.missing)}`;
    case "atMaximum":
      return `provisioner "${cause.pool}" is at its maximum of ${cause.max}; increase maxReplicas or wait`;
    case "unschedulable":
      return `pods of provisioner "${cause.pool}" cannot be scheduled`;
    case "held":
      return `provisioner "${cause.pool}" is not scaled up: ${cause.held}`;
    case "failing":
      return `pods of provisioner "${cause.pool}" fail. ${cause.problem}`;
    case "offline":
      return `pods of provisioner "${cause.pool}" run (${names(cause.pods)}), but coderd does not list their daemons; check their logs`;
    case "starting":
      return `daemons of provisioner "${cause.pool}" are starting${stillListed(cause.podless)}`;
    case "otherVersion":
      return `daemons of provisioner "${cause.pool}" are idle, but run version ${names(cause.versions)} instead of the version of coderd; set an image of the same version`;
    case "due":
      return "a daemon is idle, but does not acquire it; check its log";
  }
}

/**
 * Explains builds whose daemons have ended, although coderd lists them as running. Changes only with the
 * facts.
 */
export function explainStranded(
  { count, since, pool, daemon, end }: StrandedJobs,
  isReported: boolean,
): string {
  const run = count === 1 ? "1 build has been running" : `${count} builds are running, the first`;
  const where = `on a daemon of provisioner "${pool}" that has ended (${cut(daemon)})`;
  return `${run} since ${timestamp(since)} ${where}: ${explainEnd(end, isReported)}`;
}

function explainEnd(end: DaemonEnd, isReported: boolean): string {
  if (end === "podGone") return "its pod is gone; coderd ends the build after 5 minutes.";
  if (end === "restarted") return "its container restarted; coderd ends the build after 5 minutes.";
  return isReported ? "its pod fails." : `its pod fails. ${end.problem}`;
}

/** Users who check coderd would consider these daemons idle. */
function stillListed(podless: readonly string[]): string {
  return podless.length > 0 ? `; coderd still lists daemons without a pod: ${names(podless)}` : "";
}

/** Names from coderd or daemons. */
function names(all: readonly string[]): string {
  return all.map(cut).join(", ");
}

/** Formats tags without those that every daemon has. Truncated, because any user who can build sets them. */
function tagList(tags: Tags): string {
  const all = Object.entries(distinctiveTags(tags)).map(([key, value]) => `${cut(key)}=${cut(value)}`);
  return all.length === 0 ? "(none)" : firstOf(all, MAX_TAGS);
}

function cut(text: string): string {
  const plain = text.slice(0, MAX_TAG_LENGTH + 1).replace(/[^\x20-\x7e]/g, "?");
  return plain.length > MAX_TAG_LENGTH ? `${plain.slice(0, MAX_TAG_LENGTH)}…` : plain;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
