import { type Condition, findCondition } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { type WithConditions, type WithStatus, writeCondition, writeStatus } from "../controller/status.ts";
import { type Kind, type KubeObject, resourceName, type Stored } from "../object.ts";
import { type Action, awaitChange } from "../queue/action.ts";

/** True while an object is paused; absent otherwise. */
const PAUSED = "Paused";

/** Ignores case and whitespace: a user who wants to stop the operator must not fail because of spelling. */
export function isPausedBy(annotation: string, { metadata }: KubeObject): boolean {
  return metadata?.annotations?.[annotation]?.trim().toLowerCase() === "true";
}

interface Subject<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
}

type Reporter = Pick<RunContext, "client" | "clock" | "events">;

/** Reports on a paused object that it is paused, and how to resume it. No other write is made for it. */
export async function reportPause<T extends WithStatus<WithConditions>>(
  annotation: string,
  subject: Subject<T>,
  { client, clock, events }: Reporter,
): Promise<Action> {
  const { kind, object } = subject;
  const { name, namespace, generation: observedGeneration } = object.metadata;
  const message = `The operator does not reconcile this object until it is resumed or deleted. To resume it, run: kubectl -n ${namespace} annotate ${resourceName(kind)} ${name} ${annotation}-`;
  const paused = { type: PAUSED, status: "True", reason: "PausedByAnnotation", message } as const;
  const written = await writeCondition(client, subject, { ...paused, observedGeneration, now: clock.now() });
  if (!pauseOf(object) && pauseOf(written))
    events.event(object, { type: "Normal", reason: "Paused", message });
  return awaitChange;
}

/** Removes the condition of an earlier pause; resolves with the resulting object. */
export async function endPause<T extends WithStatus<WithConditions>>(
  { kind, object }: Subject<T>,
  { client, events }: Reporter,
): Promise<Stored<T>> {
  if (!pauseOf(object)) return object;
  const update = ({ conditions = [], ...status }: WithConditions): WithConditions => ({
    ...status,
    conditions: conditions.filter(({ type }) => type !== PAUSED),
  });
  const resumed = await writeStatus<T, WithConditions>(client, { kind, object, update });
  const message = "The operator reconciles this object again.";
  if (!pauseOf(resumed)) events.event(object, { type: "Normal", reason: "Resumed", message });
  return resumed;
}

function pauseOf({ status }: WithStatus<WithConditions>): Condition | undefined {
  return findCondition(status?.conditions, PAUSED);
}
