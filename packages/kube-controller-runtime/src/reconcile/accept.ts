import { type Condition, READY, setCondition } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { type WithStatus, writeStatus } from "../controller/status.ts";
import type { Kind, Stored } from "../object.ts";

interface WithConditions {
  conditions?: Condition[];
}

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
  return (object: Stored<T>, { client, clock }: RunContext): Promise<Stored<T>> => {
    const now = clock.now();
    const ready = {
      status: "False",
      reason: "Pending",
      message: "The operator has seen this object and is about to create what it asks for.",
    } as const;
    const update = (status: WithConditions): WithConditions => ({
      ...first,
      ...status,
      conditions: [...setCondition(status.conditions ?? [], READY, { ...ready, now })],
    });
    return writeStatus<T, WithConditions>(client, { kind, object, update });
  };
}
