import { CoreEvent, messageOf, type Pod, type RunContext, type Stored } from "kube-controller-runtime";
import { type PodWarning, stuckSince } from "./stuck.ts";

/** Warnings of pods by UID. */
export type PodWarnings = ReadonlyMap<string, readonly PodWarning[]>;

/** The last query for a stuck pod. */
export interface WarningMemory {
  podWarnings?: { readonly uid: string; readonly at: number; readonly warnings: readonly PodWarning[] };
}

const MAX_EVENTS = 50;
const MIN_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 60_000;

/**
 * Reads the warning events of the youngest stuck pod if its status does not explain the cause. Most
 * reconciles read nothing, and the interval increases over time.
 */
export async function observeWarnings(
  pods: readonly Stored<Pod>[],
  { client, clock, log }: Pick<RunContext, "client" | "clock" | "log">,
  memory: WarningMemory,
): Promise<PodWarnings> {
  const now = clock.now();
  const [stuck] = pods
    .flatMap((pod) => {
      const found = stuckSince(pod);
      return found && now >= found.dueAt ? [{ pod, ...found }] : [];
    })
    .sort((a, b) => b.since - a.since || (a.pod.metadata.name < b.pod.metadata.name ? -1 : 1));
  if (!stuck) {
    delete memory.podWarnings;
    return new Map();
  }
  const { uid, namespace } = stuck.pod.metadata;
  const pauseMs = Math.min(Math.max((now - stuck.since) / 4, MIN_PAUSE_MS), MAX_PAUSE_MS);
  const known = memory.podWarnings;
  if (known?.uid === uid && now - known.at < pauseMs) return new Map([[uid, known.warnings]]);
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  const warnings = await client.list(CoreEvent, { namespace, fieldSelector, limit: MAX_EVENTS }).then(
    ({ items }) => warningsIn(items),
    (error): PodWarning[] => {
      // They only explain a problem that is already reported.
      log.warn("failed to list the events of a pod", {
        pod: stuck.pod.metadata.name,
        problem: messageOf(error),
      });
      return [];
    },
  );
  memory.podWarnings = { uid, at: now, warnings };
  return new Map([[uid, warnings]]);
}

/** Newest first. */
export function warningsIn(events: readonly Stored<CoreEvent>[]): PodWarning[] {
  return events
    .map((event) => ({ reason: event.reason ?? "", message: event.message ?? "", at: lastSeen(event) }))
    .sort((a, b) => b.at - a.at);
}

/** Time of the last occurrence of an event, in either event API. */
function lastSeen({ series, lastTimestamp, eventTime, metadata }: Stored<CoreEvent>): number {
  return Date.parse(
    series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "",
  );
}
