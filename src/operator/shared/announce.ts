import type { Condition } from "../../runtime/conditions.ts";
import type { EventRecorder } from "../../runtime/events.ts";
import type { KubeObject } from "../../runtime/object.ts";

export interface Transition {
  readonly before: readonly Condition[] | undefined;
  readonly after: readonly Condition[] | undefined;
}

/**
 * Tells the transitions of conditions as events: one Warning when something breaks or breaks differently,
 * one Normal when it works again. Waiting at the start of a life is no news, so reasons in `quiet` are not told.
 */
export function announceTransitions(
  events: EventRecorder,
  object: KubeObject,
  { before, after, quiet }: Transition & { readonly quiet: ReadonlySet<string> },
): void {
  for (const condition of after ?? []) {
    const earlier = before?.find(({ type }) => type === condition.type);
    if (earlier?.status === condition.status && earlier.reason === condition.reason) continue;
    const { status, reason, message } = condition;
    if (quiet.has(reason) || isSummary(condition, after ?? [])) continue;
    if (status === "False") events.event(object, { type: "Warning", reason, message });
    else if (status === "True" && earlier?.status === "False" && !quiet.has(earlier.reason)) {
      events.event(object, { type: "Normal", reason, message });
    }
  }
}

/** A summary that turns False repeats what another condition says, and names that one as its reason. */
function isSummary({ status, reason }: Condition, all: readonly Condition[]): boolean {
  return status === "False" && all.some(({ type }) => type === reason);
}
