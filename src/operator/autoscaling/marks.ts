import { isNotFound, messageOf, Pod, type RunContext, refOf, type Stored } from "kube-controller-runtime";
import { BUSY_MARKS } from "../workload/pods/our-pods.ts";
import type { PoolSource } from "./observe.ts";
import type { Queue } from "./pool.ts";

/** A mark, or null to take it off. */
type Marks = Readonly<Record<string, string | null>>;

/** Marks that the API server refused, and until when they are not tried again. */
export interface Refusal {
  readonly until: number;
}

const RETRY_MS = 60_000;

/**
 * Marks the pods of a pool whose daemons are busy, and takes the marks from those that no longer are. A pod is written
 * only when that changes. Pods that leave keep theirs. Returns what was refused, if anything was.
 */
export function markPods(
  source: PoolSource,
  { daemons, before }: Pick<Queue, "daemons"> & { readonly before: Refusal | undefined },
  context: RunContext,
): Promise<Refusal | undefined> {
  const busy = new Set(daemons.filter(({ status }) => status === "busy").map(({ name }) => name));
  const ours = marksOf(source);
  const changes = changesOf(source, (name, present) => changedMarks(ours, present, busy.has(name)));
  return writeMarks(source, { changes, before }, context);
}

/** Takes the marks from the pods of a pool with a fixed number: from those that have all of them, so from ours. */
export function unmarkPods(
  source: PoolSource,
  before: Refusal | undefined,
  context: RunContext,
): Promise<Refusal | undefined> {
  const ours = marksOf(source);
  const isOurs = (present: Marks) => ours.every(([key, value]) => present[key] === value);
  const changes = changesOf(source, (_, present) =>
    isOurs(present) ? changedMarks(ours, present, false) : {},
  );
  return writeMarks(source, { changes, before }, context);
}

/** What the user gives all pods stays as it is. */
function marksOf({ provisioner: { pod } }: PoolSource): [string, string][] {
  const theirs = pod.podAnnotations ?? {};
  return Object.entries(BUSY_MARKS).filter(([key]) => !Object.hasOwn(theirs, key));
}

/** Those to put on a busy pod, or to take off another. */
function changedMarks(ours: readonly [string, string][], present: Marks, isBusy: boolean): Marks {
  const wrong = ours.filter(([key, value]) => (present[key] === value) !== isBusy);
  return Object.fromEntries(wrong.map(([key, value]) => [key, isBusy ? value : null]));
}

interface PodChange {
  readonly pod: Stored<Pod>;
  readonly annotations: Marks;
}

function changesOf({ pods }: PoolSource, marksFor: (name: string, present: Marks) => Marks): PodChange[] {
  return [...pods]
    .filter(([, { metadata }]) => metadata.deletionTimestamp === undefined)
    .map(([name, pod]) => ({ pod, annotations: marksFor(name, pod.metadata.annotations ?? {}) }))
    .filter(({ annotations }) => Object.keys(annotations).length > 0);
}

/** What was refused is tried again after a while, and only the first refusal is logged. */
async function writeMarks(
  { object }: PoolSource,
  { changes, before }: { readonly changes: readonly PodChange[]; readonly before: Refusal | undefined },
  { client, clock, log }: RunContext,
): Promise<Refusal | undefined> {
  if (changes.length === 0) return undefined;
  // A clock that was set back would make the next try wait for as long.
  const restMs = (before?.until ?? 0) - clock.now();
  if (before && restMs > 0 && restMs <= RETRY_MS) return before;
  const writing = changes.map(({ pod, annotations }) =>
    client.mergePatch(Pod, refOf(pod), { metadata: { annotations } }),
  );
  const results = await Promise.allSettled(writing);
  const failed = results.find((result) => result.status === "rejected" && !isNotFound(result.reason));
  if (failed?.status !== "rejected") return undefined;
  const problem = messageOf(failed.reason);
  if (!before)
    log.warn("failed to mark pods of busy daemons", { provisioner: object.metadata.name, problem });
  return { until: clock.now() + RETRY_MS };
}
