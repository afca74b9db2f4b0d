import { type Condition, READY } from "../conditions.ts";
import type { EventRecorder } from "../events.ts";
import type { KubeObject, Stored } from "../object.ts";

export interface Transition {
  readonly before: readonly Condition[] | undefined;
  readonly after: readonly Condition[] | undefined;
  /** Reasons that belong to a normal start, or are reported otherwise: no event. */
  readonly quiet: ReadonlySet<string>;
}

type Happening = Parameters<EventRecorder["event"]>[1];

/**
 * Emits events for the transitions of conditions: one Normal when the first children are created, one Warning
 * when something fails or fails differently, one Normal when it works again. The summary condition only gets
 * an event when everything works, and when it becomes False for a cause without its own event.
 */
export function announceTransitions(events: EventRecorder, object: KubeObject, transition: Transition): void {
  const { before = [], after = [], quiet } = transition;
  // The first status only says that the object was seen.
  if (before.every(({ type }) => type === READY))
    for (const creation of created(after, quiet)) events.event(object, creation);
  for (const condition of after) {
    const earlier = before.find(({ type }) => type === condition.type);
    if (earlier?.status === condition.status && earlier.reason === condition.reason) continue;
    const news = condition.status === "False" ? problem : recovery;
    const happening = news(condition, earlier, transition);
    if (happening) events.event(object, happening);
  }
}

function created(conditions: readonly Condition[], quiet: ReadonlySet<string>): Happening[] {
  const isNews = ({ status, reason }: Condition) =>
    status === "True" && reason === "Applied" && !quiet.has(reason);
  const made = conditions.filter(isNews);
  const message = made.map((condition) => condition.message).join(" ");
  return message ? [{ type: "Normal", reason: "Created", message }] : [];
}

function problem(
  condition: Condition,
  earlier: Condition | undefined,
  { after, quiet }: Transition,
): Happening | undefined {
  const part = repeatedPart(condition, after);
  const isNews = part ? earlier?.status === "True" && quiet.has(part.reason) : !quiet.has(condition.reason);
  const { reason, message } = part ?? condition;
  return isNews ? { type: part ? "Normal" : "Warning", reason, message } : undefined;
}

function recovery(
  { status, reason, message }: Condition,
  earlier: Condition | undefined,
  { before, quiet }: Transition,
): Happening | undefined {
  if (status !== "True" || earlier?.status !== "False") return undefined;
  const isNews = repeatedPart(earlier, before) !== undefined || !quiet.has(earlier.reason);
  return isNews ? { type: "Normal", reason, message } : undefined;
}

/** A summary that is False repeats another condition, which has its own event. */
function repeatedPart(condition: Condition, all: readonly Condition[] | undefined): Condition | undefined {
  if (condition.type !== READY) return undefined;
  const fields = ["status", "reason", "message"] as const;
  return all?.find(
    (part) => part.type !== READY && fields.every((field) => part[field] === condition[field]),
  );
}

/** Tells a user who scales or edits a child why the change does not last. */
export function reverted({ kind, metadata: { name } }: Stored<KubeObject>): Happening {
  const message = `Reverted changes of another client to ${kind} "${name}" in fields that the operator manages.`;
  return { type: "Normal", reason: "Reverted", message };
}
