import type { Condition } from "../../runtime/conditions.ts";
import type { Action } from "../../runtime/controller/action.ts";
import type { RunContext } from "../../runtime/controller/controller.ts";
import { type WithStatus, writeStatus } from "../../runtime/controller/status.ts";
import type { Steps } from "../../runtime/controller/steps.ts";
import type { Kind, Stored } from "../../runtime/object.ts";
import { announceTransitions } from "./announce.ts";

/** What the statuses of our kinds have in common. */
interface CommonStatus {
  conditions?: Condition[];
  observedGeneration?: number;
}

export interface FinishedRun<T extends WithStatus<S>, S extends CommonStatus> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  readonly now: number;
  /** Reasons that are part of a normal life: no event tells them. */
  readonly quiet: ReadonlySet<string>;
}

/** Writes the status, also after a failure, tells what changed, and then says how the run ended. */
export async function finish<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  { kind, object, now, quiet }: FinishedRun<T, S>,
  { client, events }: RunContext,
): Promise<Action> {
  const { generation: observedGeneration } = object.metadata;
  try {
    const update = (status: Partial<S>) => ({
      ...steps.applyTo(status, { observedGeneration, now }),
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    });
    const written = await writeStatus<T, S>(client, { kind, object, update });
    const [before, after] = [object.status?.conditions, written.status?.conditions];
    announceTransitions(events, written, { before, after, quiet });
  } catch (error) {
    return steps.finish(error);
  }
  return steps.finish();
}
