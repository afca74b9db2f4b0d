import { isNotFound, Pod, type RunContext, refOf } from "kube-controller-runtime";
import { BUSY_MARKS } from "../pods/our-pods.ts";
import type { Queue } from "./pool.ts";
import type { PoolSource } from "./pools.ts";

/**
 * Marks the pods of a pool whose daemons are busy, and takes the marks from those that no longer are. A pod is written
 * only when that changes. Pods that leave keep theirs.
 */
export async function markPods(
  { pods }: PoolSource,
  { daemons }: Queue,
  { client }: RunContext,
): Promise<void> {
  const busy = new Set(daemons.filter(({ status }) => status === "busy").map(({ name }) => name));
  const changes = [...pods].flatMap(([name, pod]) => {
    const { annotations = {}, deletionTimestamp } = pod.metadata;
    const wanted = (key: string) => (busy.has(name) ? (BUSY_MARKS[key] ?? null) : null);
    const isMarked = Object.keys(BUSY_MARKS).every((key) => (annotations[key] ?? null) === wanted(key));
    if (isMarked || deletionTimestamp !== undefined) return [];
    const marks = Object.fromEntries(Object.keys(BUSY_MARKS).map((key) => [key, wanted(key)]));
    return [client.mergePatch(Pod, refOf(pod), { metadata: { annotations: marks } })];
  });
  const results = await Promise.allSettled(changes);
  const failed = results.find((result) => result.status === "rejected" && !isNotFound(result.reason));
  if (failed?.status === "rejected") throw failed.reason;
}
