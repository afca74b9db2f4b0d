import { READY } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { type WithConditions, type WithStatus, writeCondition } from "../controller/status.ts";
import type { Kind, Stored } from "../object.ts";
import { explain } from "./explain.ts";

/** Says in `Ready` why an object that was deleted is still there. */
export async function reportFailedCleanup<T extends WithStatus<WithConditions>>(
  { error, ...subject }: { readonly kind: Kind<T>; readonly object: Stored<T>; readonly error: unknown },
  { client, clock }: Pick<RunContext, "client" | "clock">,
): Promise<void> {
  await writeCondition(client, subject, {
    type: READY,
    status: "False",
    reason: "CleanupFailed",
    message: `The object is deleted once everything that the operator made elsewhere for it is removed. ${explain(error).message}`,
    observedGeneration: subject.object.metadata.generation,
    now: clock.now(),
  });
}
