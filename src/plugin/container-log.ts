import { collectionPath, Pod } from "kube-controller-runtime";
import type { Cluster } from "./cluster.ts";

/** Which log is read, and how much of its end at most. */
export interface LogEnd {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** That of the container's run before. */
  readonly previous: boolean;
  readonly lines: number;
  readonly bytes: number;
}

/**
 * The newest lines of a container's log. A kubelet begins with the oldest line of those that were asked for and stops
 * after `limitBytes`, so what it drops is the newest: an answer as large as the limit is asked for again, with half as
 * many lines.
 */
export async function readLogEnd({ text }: Pick<Cluster, "text">, end: LogEnd): Promise<string> {
  const log = await text(logPath(end));
  if (end.lines <= 1 || Buffer.byteLength(log) < end.bytes) return log;
  return readLogEnd({ text }, { ...end, lines: Math.floor(end.lines / 2) });
}

function logPath({ namespace, pod, container, previous, lines, bytes }: LogEnd): string {
  const query = new URLSearchParams({
    container,
    tailLines: `${lines}`,
    limitBytes: `${bytes}`,
    ...(previous ? { previous: "true" } : {}),
  });
  return `${collectionPath(Pod, namespace)}/${encodeURIComponent(pod)}/log?${query}`;
}
