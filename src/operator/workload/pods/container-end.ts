import type { Pod, Stored } from "kube-controller-runtime";
import { maskCoderSecrets } from "../../../coder/redact.ts";

export type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];
type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

/** A container that is restarted more often within the window is crash-looping. */
const MAX_RESTARTS = 2;

/** A kubelet forgets its back-off after the same time without an end. */
const LOOP_WINDOW_MS = 10 * 60_000;

/** A kubelet waits this long, in whole seconds, from the third restart on; less before the first two. */
const MIN_LOOP_PAUSE_MS = 19_000;

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
 * Settling and looping last while the container runs, so that a report does not change with every restart.
 */
export interface ContainerEnd {
  /** Why and how often, without the name of the container: the same until it ends again. */
  readonly how: string;
  /** The last line that it wrote; empty when that is not known. */
  readonly lastLine: string;
  /** Of a container that runs again: when its end no longer matters, unless it ends again. */
  readonly settling?: { readonly leftMs: number; readonly isLooping: boolean };
}

/** The last end of a container that should run on, exit code 0 too; undefined once it no longer matters. */
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
  // A program that still does not answer long after its last end has another problem.
  if (!ready) return finishedAt !== undefined && sinceMs >= LOOP_WINDOW_MS ? undefined : end;
  const runsMs = now - (startedAt ?? Number.NEGATIVE_INFINITY);
  return runsMs < SETTLE_MS
    ? { ...end, settling: { leftMs: left(SETTLE_MS, runsMs), isLooping: false } }
    : undefined;
}

interface Restarted {
  readonly container: ContainerStatus;
  readonly pod: Stored<Pod>;
  /** Since when it runs again. */
  readonly startedAt: number | undefined;
}

/**
 * Whether it was restarted more than twice in ten minutes. The status counts restarts of the whole life of a pod, so the
 * kubelet's back-off says how many came soon after each other; the run before the last is taken to have lasted as long.
 */
function isLoop(last: Terminated, { container, pod, startedAt }: Restarted): boolean {
  const [began, finished] = [timeOf(last.startedAt), timeOf(last.finishedAt)];
  if (container.restartCount <= MAX_RESTARTS || began === undefined || finished === undefined) return false;
  const createdAt = timeOf(pod.metadata.creationTimestamp);
  if (createdAt !== undefined && finished - createdAt < LOOP_WINDOW_MS) return true;
  const pauseMs = (startedAt ?? finished) - finished;
  return pauseMs >= MIN_LOOP_PAUSE_MS && 2 * (finished - began) + pauseMs < LOOP_WINDOW_MS;
}

/** The clock of the node may be ahead. */
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

/** Coder counts several errors in one line and lists them below, the cause last. */
const LISTED_ERROR = /^\d+\.\s+/;

/** Of what a container wrote last: the last line that names an error, else the last one. */
function lastLine(message: string): string {
  const text = maskCoderSecrets(message, { mark: "***", limit: MAX_SEARCHED });
  const lines = text.split("\n").filter((line) => line.trim() !== "");
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

interface KnownEnd {
  readonly says: RegExp;
  readonly advice: (...found: readonly string[]) => string;
}

/** What coderd writes last before it ends, where that alone does not tell a person what to change. */
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

/** What to do about the end of a container that wrote this last. */
export function adviceOn(lastLine: string): string | undefined {
  for (const { says, advice } of KNOWN_ENDS) {
    const [found, ...groups] = says.exec(lastLine) ?? [];
    if (found !== undefined) return advice(...groups);
  }
  return undefined;
}

/** The API server writes null for a time that is not set. */
export function timeOf(time: string | null | undefined): number | undefined {
  const ms = Date.parse(String(time));
  return Number.isFinite(ms) ? ms : undefined;
}
