import { collectionPath, Pod } from "kube-controller-runtime";
import type { Cluster } from "./cluster.ts";

/** Which log to read, and the maximum length of its end. */
export interface LogEnd {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** The log of the container's previous run. */
  readonly previous: boolean;
  readonly lines: number;
  readonly bytes: number;
}

/**
 * The newest lines of a container's log. A kubelet sends the oldest of the requested lines first and stops
 * after `limitBytes`, so it drops the newest: if the response reaches the limit, half as many lines are
 * requested.
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
