import { type Pod, redactText, type Stored } from "kube-controller-runtime";

export type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];
type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

/** A container that is restarted more often within the window is crash-looping. */
const MAX_RESTARTS = 2;

/** A kubelet forgets its back-off after the same time without an end. */
const LOOP_WINDOW_MS = 10 * 60_000;

/** Minimum time that a restarted container runs before its end no longer counts. */
const SETTLE_MS = 60_000;

/** As much of a termination message as is searched; kubelets keep 4 KiB. */
const MAX_SEARCHED = 8 * 1024;

/**
 * What the last end of a container means for its pod:
 *
 *     ended ──▶ down ──it runs again──▶ settling ──a minute without an end──▶ over
 *                 ▲                        │
 *                 └──────it ends again─────┘ more than twice in ten minutes ──▶ looping ──ten minutes without an end──▶ over
 *
 * `looping` lasts while the container happens to run, so that a report does not change with every restart.
 */
export interface ContainerEnd {
  readonly phase: "down" | "settling" | "looping";
  /** Why and how often, without the name of the container: the same until it ends again. */
  readonly how: string;
  /** The last line that it wrote; empty when that is not known. */
  readonly lastLine: string;
  /** When the phase ends unless the container does; absent while it is down. */
  readonly overInMs?: number;
}

/** The last end of a container that should run on, exit code 0 too; undefined once it no longer matters. */
export function endOf(container: ContainerStatus, pod: Stored<Pod>, now: number): ContainerEnd | undefined {
  const { state, lastState, restartCount, ready } = container;
  const last = state?.terminated ?? lastState?.terminated;
  if (!last) return undefined;
  const described = { how: how(last, container, pod), lastLine: lastLine(last.message ?? "") };
  const finishedAt = timeOf(last.finishedAt);
  const sinceMs = finishedAt === undefined ? Number.POSITIVE_INFINITY : now - finishedAt;
  const isRunning = state?.running !== undefined;
  const isLooping = restartCount > MAX_RESTARTS && ranMs(last) < LOOP_WINDOW_MS;
  if (isLooping && (!isRunning || sinceMs < LOOP_WINDOW_MS))
    return {
      phase: "looping",
      ...described,
      ...(isRunning ? { overInMs: left(LOOP_WINDOW_MS, sinceMs) } : {}),
    };
  if (!isRunning) return { phase: "down", ...described };
  // A program that still does not answer long after its last end has another problem.
  if (!ready) return isOver(finishedAt, sinceMs) ? undefined : { phase: "down", ...described };
  const runsMs = now - (timeOf(state.running?.startedAt) ?? Number.NEGATIVE_INFINITY);
  return runsMs < SETTLE_MS
    ? { phase: "settling", ...described, overInMs: left(SETTLE_MS, runsMs) }
    : undefined;
}

/** The clock of the node may be ahead. */
function left(windowMs: number, passedMs: number): number {
  return Math.min(Math.max(windowMs - passedMs, 0), windowMs);
}

function isOver(finishedAt: number | undefined, sinceMs: number): boolean {
  return finishedAt !== undefined && sinceMs >= LOOP_WINDOW_MS;
}

function ranMs({ startedAt, finishedAt }: Terminated): number {
  const [from, to] = [timeOf(startedAt), timeOf(finishedAt)];
  return from === undefined || to === undefined ? 0 : to - from;
}

function how(last: Terminated, { restartCount }: ContainerStatus, { metadata }: Stored<Pod>): string {
  const restarts = restartCount > MAX_RESTARTS ? ` (${restartsSince(metadata, restartCount, last)})` : "";
  return `${ending(last)}${restarts}`;
}

function ending({ exitCode, reason }: Terminated): string {
  if (reason === "OOMKilled")
    return `was killed because it used more memory than its limit, exit code ${exitCode}`;
  return exitCode === 0
    ? "ends with exit code 0 instead of running on"
    : `crashes with exit code ${exitCode}`;
}

/** Of the whole life of the pod, since its status has nothing else. */
function restartsSince(
  { creationTimestamp }: Stored<Pod>["metadata"],
  restartCount: number,
  { finishedAt }: Terminated,
): string {
  const [from, to] = [timeOf(creationTimestamp), timeOf(finishedAt)];
  const within = from === undefined || to === undefined ? "" : ` in ${durationText(to - from)}`;
  return `${restartCount} restarts${within}`;
}

const UNITS = [
  ["day", 24 * 60 * 60_000],
  ["hour", 60 * 60_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** In the largest unit that fits at least twice. */
function durationText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= 2 * each) ?? ["second", 1_000];
  const count = Math.max(Math.round(ms / unitMs), 1);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Not `error=`, a field of a line that may warn of something else. */
const NAMES_ERROR = /\b(error|fatal|panic)\b(?!=)[^:]*:/i;

/** A provisioner key: Coder's daemons ask for a URL with it when they start, which the error of that request quotes. */
const DAEMON_KEY = /(?<![\w-])(?=[\w-]*[A-Z])[\w-]{43}(?![\w-])/g;

/** Coder counts several errors in one line and lists them below, the cause last. */
const LISTED_ERROR = /^\d+\.\s+/;

/** Of what a container wrote last: the last line that names an error, else the last one. */
function lastLine(message: string): string {
  const lines = redactText(message.slice(0, MAX_SEARCHED))
    .replace(DAEMON_KEY, "***")
    .split("\n")
    .filter((line) => line.trim() !== "");
  let index = lines.findLastIndex((line) => NAMES_ERROR.test(line.slice(0, 200)));
  if (index < 0) return continued(lines, lines.length - 1);
  while (LISTED_ERROR.test(lines[index + 1] ?? "")) index++;
  return continued(lines, index).replace(LISTED_ERROR, "");
}

/** A line that begins with a space continues the one before it. */
function continued(lines: readonly string[], index: number): string {
  let first = index;
  while (first > 0 && /^\s/.test(lines[first] ?? "")) first--;
  return lines.slice(first, index + 1).join(" ");
}

function timeOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}
