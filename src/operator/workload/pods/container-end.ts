import type { Pod, Stored } from "kube-controller-runtime";
import { redactText } from "../../../coder/redact.ts";

export type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];
type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

/** A container with more restarts within the window is crash-looping. */
const MAX_RESTARTS = 2;

/** A kubelet resets its back-off after the same time without a restart. */
const LOOP_WINDOW_MS = 10 * 60_000;

/** Minimum back-off of a kubelet, in whole seconds, from the third restart on. */
const MIN_LOOP_PAUSE_MS = 19_000;

/** Minimum time that a restarted container runs before its end no longer counts. */
const SETTLE_MS = 60_000;

/**
 * States of a container after it ended:
 *
 *     ended ──▶ down ──restarted──▶ settling ──1 minute running──▶ over
 *                 ▲                    │
 *                 └────ended again─────┘ more than twice in 10 minutes ──▶ looping ──10 minutes running──▶ over
 *
 * Settling and looping include times in which the container runs, so that the report does not change with every restart.
 */
export interface ContainerEnd {
  /** Why it ended and how often it restarted, without the container name. Changes only when it ends again. */
  readonly how: string;
  /** The last log line. Empty if unknown. */
  readonly lastLine: string;
  /** For a running container: when its end no longer matters, unless it ends again. */
  readonly settling?: { readonly leftMs: number; readonly isLooping: boolean };
}

/**
 * The last end of a container that should keep running, including exit code 0. Undefined if it no longer
 * matters.
 */
export function endOf(container: ContainerStatus, pod: Stored<Pod>, now: number): ContainerEnd | undefined {
  const { state, lastState, ready } = container;
  const last = state?.terminated ?? lastState?.terminated;
  if (!last) return undefined;
  const end = { how: how(last, container, pod), lastLine: lastLine(last.message ?? "") };
  if (!state?.running) return end;
  const finishedAt = timeOf(last.finishedAt);
  const sinceMs = finishedAt === undefined ? Number.POSITIVE_INFINITY : now - finishedAt;
  const startedAt = timeOf(state.running.startedAt);
  if (isLoop(last, { container, pod, startedAt }) && sinceMs < LOOP_WINDOW_MS)
    return { ...end, settling: { leftMs: left(LOOP_WINDOW_MS, sinceMs), isLooping: true } };
  // A program that is not ready long after its last end has a different problem.
  if (!ready) return finishedAt !== undefined && sinceMs >= LOOP_WINDOW_MS ? undefined : end;
  const runsMs = now - (startedAt ?? Number.NEGATIVE_INFINITY);
  return runsMs < SETTLE_MS
    ? { ...end, settling: { leftMs: left(SETTLE_MS, runsMs), isLooping: false } }
    : undefined;
}

interface Restarted {
  readonly container: ContainerStatus;
  readonly pod: Stored<Pod>;
  /** Since when it has been running again. */
  readonly startedAt: number | undefined;
}

/**
 * Whether it restarted more than twice in ten minutes. The status counts restarts over the whole lifetime of
 * a pod, so the kubelet's back-off indicates how many were recent; the run before the last is assumed to have
 * had the same duration.
 */
function isLoop(last: Terminated, { container, pod, startedAt }: Restarted): boolean {
  const [began, finished] = [timeOf(last.startedAt), timeOf(last.finishedAt)];
  if (container.restartCount <= MAX_RESTARTS || began === undefined || finished === undefined) return false;
  const createdAt = timeOf(pod.metadata.creationTimestamp);
  if (createdAt !== undefined && finished - createdAt < LOOP_WINDOW_MS) return true;
  const pauseMs = (startedAt ?? finished) - finished;
  return pauseMs >= MIN_LOOP_PAUSE_MS && 2 * (finished - began) + pauseMs < LOOP_WINDOW_MS;
}

/** Bounded, because the clock of the node may be ahead. */
function left(windowMs: number, passedMs: number): number {
  return Math.min(Math.max(windowMs - passedMs, 0), windowMs);
}

function how(last: Terminated, { restartCount }: ContainerStatus, { metadata }: Stored<Pod>): string {
  const restarts = restartCount > MAX_RESTARTS ? ` (${restartsSince(metadata, restartCount, last)})` : "";
  return `${ending(last)}${restarts}`;
}

function ending({ exitCode, reason }: Terminated): string {
  if (reason === "OOMKilled")
    return `was killed because it used more memory than its limit, exit code ${exitCode}`;
  return exitCode === 0
    ? "exits with exit code 0 instead of continuing to run"
    : `crashes with exit code ${exitCode}`;
}

/** Over the whole lifetime of the pod, because its status contains nothing else. */
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

/** In the largest unit of which there are at least two. */
function durationText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= 2 * each) ?? ["second", 1_000];
  const count = Math.max(Math.round(ms / unitMs), 1);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Excludes `error=`, a field of log lines that may be unrelated. */
const ERROR_LINE = /\b(error|fatal|panic)\b(?!=)[^:]*:/i;

/** Coder counts several errors in one line and lists them below, with the cause last. */
const LISTED_ERROR = /^\d+\.\s+/;

/** The last line with an error, otherwise the last line. */
function lastLine(message: string): string {
  const lines = redactText(message)
    .split("\n")
    .filter((line) => line.trim() !== "");
  let index = lines.findLastIndex((line) => ERROR_LINE.test(line.slice(0, 200)));
  if (index < 0) return continued(lines, lines.length - 1);
  while (LISTED_ERROR.test(lines[index + 1] ?? "")) index++;
  return continued(lines, index).replace(LISTED_ERROR, "");
}

/** A line that starts with a space continues the previous one. */
function continued(lines: readonly string[], index: number): string {
  let first = index;
  while (first > 0 && /^\s/.test(lines[first] ?? "")) first--;
  return lines.slice(first, index + 1).join(" ");
}

interface KnownEnd {
  readonly says: RegExp;
  readonly advice: (...found: readonly string[]) => string;
}

/** Final log lines of coderd that do not explain what to change. */
const KNOWN_ENDS: readonly KnownEnd[] = [
  {
    says: /AI provider "([^"]{1,128})" already exists in the database and differs/,
    advice: (name) =>
      `Variables CODER_AI_GATEWAY_* and CODER_AIBRIDGE_* only seed the database, where AI provider "${name}" now differs; remove its variables from spec.extraEnv, or make them match the database.`,
  },
  {
    says: /seed ai providers from env:/,
    advice: () => "Correct the variables CODER_AI_GATEWAY_* and CODER_AIBRIDGE_* in spec.extraEnv.",
  },
];

/** Advice for a container that ended with this log line. */
export function adviceOn(lastLine: string): string | undefined {
  for (const { says, advice } of KNOWN_ENDS) {
    const [found, ...groups] = says.exec(lastLine) ?? [];
    if (found !== undefined) return advice(...groups);
  }
  return undefined;
}

/** The API server returns null for a time that is not set. */
export function timeOf(time: string | null | undefined): number | undefined {
  const ms = Date.parse(String(time));
  return Number.isFinite(ms) ? ms : undefined;
}
