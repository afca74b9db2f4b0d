import { isNotFound, messageOf, Pod, type RunContext, refOf, type Stored } from "kube-controller-runtime";
import { BUSY_MARKS } from "../workload/pods/owned-pods.ts";
import type { PoolSource } from "./observe.ts";
import type { Queue } from "./pool.ts";

/** Annotations to set, or null to remove. */
type Marks = Readonly<Record<string, string | null>>;

/** A mark that the API server rejected, and when to retry. */
export interface Refusal {
  readonly until: number;
}

const RETRY_MS = 60_000;

/**
 * Marks the pods of busy daemons, and removes the marks of others. Pods are only written if their marks
 * change. Terminating pods keep their marks. Returns the rejection, if any.
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

/** Removes the marks from the pods of a pool with a fixed number, if they have all marks of the operator. */
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

/** Annotations that the user sets on all pods are not changed. */
function marksOf({ provisioner: { pod } }: PoolSource): [string, string][] {
  const theirs = pod.podAnnotations ?? {};
  return Object.entries(BUSY_MARKS).filter(([key]) => !Object.hasOwn(theirs, key));
}

/** Marks to add to a busy pod, or to remove from another pod. */
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

/** A rejected mark is retried after a while, and only the first rejection is logged. */
async function writeMarks(
  { object }: PoolSource,
  { changes, before }: { readonly changes: readonly PodChange[]; readonly before: Refusal | undefined },
  { client, clock, log }: RunContext,
): Promise<Refusal | undefined> {
  if (changes.length === 0) return undefined;
  // Bounded, in case the clock was set back.
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
