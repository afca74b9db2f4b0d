import { type Condition, findCondition } from "../../runtime/conditions.ts";
import { type Action, requeue } from "../../runtime/controller/action.ts";
import type { RunContext } from "../../runtime/controller/controller.ts";
import { type WithStatus, writeStatus } from "../../runtime/controller/status.ts";
import type { Steps } from "../../runtime/controller/steps.ts";
import type { Kind, Stored } from "../../runtime/object.ts";
import { announceTransitions } from "./announce.ts";

const READY = "Ready";

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

/** Remembered of an object whose status is held back. */
export interface HeldStatusMemory {
  heldStatus: {
    /** Since when there has been something to tell. */
    readonly since: number;
    /** What this one says, in short, and how long that may wait. */
    readonly says: string;
    readonly until: number;
    readonly isTold: boolean;
  };
}

/** How long a status is held back that says no more than that a start goes on: most say more a moment later. */
const HOLD_MS = 300;

/** The same where everything takes long: so many times what the run took. */
const HOLD_RUNS = 3;

/** The same while the start has news all the time. */
const MOST_HOLD_MS = 10_000;

/** The same while it waits for an object whose own first status is due. */
const MOST_WAIT_MS = 30_000;

/** The reason when another object, on which this one depends, has no status yet. */
export const UNREPORTED = "Unreported";

/**
 * Writes the status, also after a failure, tells what changed, and then says how the run ended. While an object
 * starts, a status that only says so waits a moment for a better one: most writes would be of that kind.
 */
export async function finish<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  run: FinishedRun<T, S>,
  { context, memory }: { readonly context: RunContext; readonly memory: Partial<HeldStatusMemory> },
): Promise<Action> {
  if (!isStarting(steps, run)) delete memory.heldStatus;
  else {
    const held = hold(steps, memory.heldStatus, { begun: run.now, ended: context.clock.now() });
    const holdMs = held.until - run.now;
    // More than the most means that the clock was set back.
    const mayWait = holdMs > 0 && holdMs <= MOST_WAIT_MS;
    memory.heldStatus = { ...held, isTold: !mayWait };
    if (mayWait) return sooner(steps.finish(), holdMs);
  }
  return report(steps, run, context);
}

function hold<S extends CommonStatus>(
  { conditions }: Steps<S>,
  before: HeldStatusMemory["heldStatus"] | undefined,
  { begun, ended }: { readonly begun: number; readonly ended: number },
): HeldStatusMemory["heldStatus"] {
  const says = [...conditions].map(([type, { status, reason }]) => `${type} ${status} ${reason}`).join();
  if (before?.says === says) return before;
  const since = before && !before.isTold ? before.since : begun;
  const awaitsReport = [...conditions.values()].some(({ reason }) => reason === UNREPORTED);
  const patienceMs = Math.max(HOLD_MS, HOLD_RUNS * (ended - begun));
  const until = awaitsReport ? since + MOST_WAIT_MS : Math.min(since + MOST_HOLD_MS, begun + patienceMs);
  return { since, says, until, isTold: false };
}

/** Whether all that an object lacks is what every object lacks for a while after it was made. */
function isStarting<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  { object, quiet }: FinishedRun<T, S>,
): boolean {
  const wasReady = findCondition(object.status?.conditions, READY)?.status === "True";
  if (steps.hasFailed || wasReady || steps.conditions.get(READY)?.status !== "False") return false;
  const parts = [...steps.conditions].filter(([type, { status }]) => type !== READY && status === "False");
  return parts.every(([, { reason }]) => quiet.has(reason));
}

function sooner(action: Action, afterMs: number): Action {
  return requeue(action.kind === "requeue" ? Math.min(action.afterMs, afterMs) : afterMs);
}

async function report<T extends WithStatus<S>, S extends CommonStatus>(
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
