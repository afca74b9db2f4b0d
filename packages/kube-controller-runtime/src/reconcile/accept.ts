import { READY } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { type WithConditions, type WithStatus, writeCondition } from "../controller/status.ts";
import type { Kind, Stored } from "../object.ts";

/** Whether an object has no status yet. */
export function isNew({ metadata, status = {} }: Stored<WithStatus<WithConditions>>): boolean {
  return Object.keys(status).length === 0 && metadata.deletionTimestamp === undefined;
}

/**
 * Writes the first status of an object, `first` and a condition, before any work for it, to report that it
 * was seen. It has no `observedGeneration`, because the spec was not evaluated yet.
 */
export function accept<T extends WithStatus<WithConditions>>(
  kind: Kind<T>,
  first: Partial<NonNullable<T["status"]>>,
) {
  return (object: Stored<T>, { client, clock }: RunContext): Promise<Stored<T>> =>
    writeCondition(
      client,
      { kind, object, first },
      {
        type: READY,
        status: "False",
        reason: "Pending",
        message: "The operator has seen this object and will create its resources.",
        now: clock.now(),
      },
    );
}
