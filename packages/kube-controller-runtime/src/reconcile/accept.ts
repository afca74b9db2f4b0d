import { READY } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { type WithConditions, type WithStatus, writeCondition } from "../controller/status.ts";
import type { Kind, Stored } from "../object.ts";

/** Whether nobody has said anything about an object yet. */
export function isNew({ metadata, status = {} }: Stored<WithStatus<WithConditions>>): boolean {
  return Object.keys(status).length === 0 && metadata.deletionTimestamp === undefined;
}

/**
 * Writes the first status of an object, `first` and a condition, before anything is done for it: it was seen. It has
 * no `observedGeneration`, because nothing of the spec was looked at.
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
        message: "The operator has seen this object and is about to create what it asks for.",
        now: clock.now(),
      },
    );
}
