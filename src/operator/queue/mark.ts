import { isNotFound, Pod, type RunContext, refOf, type Stored } from "kube-controller-runtime";
import { BUSY_MARKS } from "../pods/our-pods.ts";
import type { Queue } from "./pool.ts";
import type { PoolSource } from "./pools.ts";

/** A mark, or null to take it off. */
type Marks = Readonly<Record<string, string | null>>;

/**
 * Marks the pods of a pool whose daemons are busy, and takes the marks from those that no longer are. A pod is written
 * only when that changes. Pods that leave keep theirs. Returns whether all are marked as they should be.
 */
export function markPods(source: PoolSource, { daemons }: Queue, context: RunContext): Promise<boolean> {
  const busy = new Set(daemons.filter(({ status }) => status === "busy").map(({ name }) => name));
  const ours = marksOf(source);
  return writeMarks(
    source,
    (name, present) => (busy.has(name) ? missingOf(ours, present) : leftOf(ours, present)),
    context,
  );
}

/** Takes the marks from the pods of a pool with a fixed number: from those that have all of them, so from ours. */
export async function unmarkPods(source: PoolSource, context: RunContext): Promise<void> {
  const ours = marksOf(source);
  const isOurs = (present: Marks) => ours.every(([key, value]) => present[key] === value);
  await writeMarks(source, (_, present) => (isOurs(present) ? leftOf(ours, present) : {}), context);
}

/** What the user gives all pods stays as it is. */
function marksOf({ provisioner: { pod } }: PoolSource): [string, string][] {
  const theirs = pod.podAnnotations ?? {};
  return Object.entries(BUSY_MARKS).filter(([key]) => !Object.hasOwn(theirs, key));
}

function missingOf(ours: readonly [string, string][], present: Marks): Marks {
  return Object.fromEntries(ours.filter(([key, value]) => present[key] !== value));
}

function leftOf(ours: readonly [string, string][], present: Marks): Marks {
  return Object.fromEntries(
    ours.filter(([key, value]) => present[key] === value).map(([key]) => [key, null]),
  );
}

async function writeMarks(
  { pods, object }: PoolSource,
  changesOf: (name: string, present: Marks) => Marks,
  { client, log }: RunContext,
): Promise<boolean> {
  const write = async (name: string, pod: Stored<Pod>): Promise<void> => {
    const { annotations: present = {}, deletionTimestamp } = pod.metadata;
    const annotations = changesOf(name, present);
    if (deletionTimestamp !== undefined || Object.keys(annotations).length === 0) return;
    await client.mergePatch(Pod, refOf(pod), { metadata: { annotations } });
  };
  const results = await Promise.allSettled([...pods].map(([name, pod]) => write(name, pod)));
  const failed = results.find((result) => result.status === "rejected" && !isNotFound(result.reason));
  if (failed?.status !== "rejected") return true;
  const problem = failed.reason instanceof Error ? failed.reason.message : String(failed.reason);
  log.warn("pods could not be marked", { provisioner: object.metadata.name, problem });
  return false;
}
