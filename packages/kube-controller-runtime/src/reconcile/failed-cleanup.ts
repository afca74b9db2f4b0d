import { type Condition, READY, setCondition } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { type WithStatus, writeStatus } from "../controller/status.ts";
import type { Kind, Stored } from "../object.ts";
import { explain } from "./explain.ts";

interface StatusWithConditions {
  conditions?: Condition[];
}

export interface FailedCleanup<T extends WithStatus<StatusWithConditions>> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  readonly error: unknown;
}

/** Says in `Ready` why an object that was deleted is still there. */
export async function reportFailedCleanup<T extends WithStatus<StatusWithConditions>>(
  { kind, object, error }: FailedCleanup<T>,
  { client, clock }: Pick<RunContext, "client" | "clock">,
): Promise<void> {
  const state = {
    status: "False",
    reason: "CleanupFailed",
    message: `The object is deleted once everything that the operator made elsewhere for it is removed. ${explain(error).message}`,
    observedGeneration: object.metadata.generation,
    now: clock.now(),
  } as const;
  const update = (current: StatusWithConditions) => ({
    ...current,
    conditions: [...setCondition(current.conditions ?? [], READY, state)],
  });
  await writeStatus<T, StatusWithConditions>(client, { kind, object, update });
}
