import { type Condition, findCondition, READY } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { mergePatchBetween, type StatusWrite, type WithStatus, writeStatus } from "../controller/status.ts";
import type { Steps } from "../controller/steps.ts";
import type { Kind, Stored } from "../object.ts";
import { type Action, requeue } from "../queue/action.ts";
import { announceTransitions } from "./announce.ts";

/** True while an earlier spec is being served: a change of the spec is not a start. */
export const AVAILABLE = "Available";

/** The common fields of all statuses. */
export interface CommonStatus {
  conditions?: Condition[];
  observedGeneration?: number;
}

export interface FinishedRun<T extends WithStatus<S>, S extends CommonStatus> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  readonly now: number;
  /** Reasons that are part of normal operation: no event is emitted for them. */
  readonly quiet: ReadonlySet<string>;
}

/** The memory for an object that is starting. */
export interface StartMemory {
  /** When its next status is due, and whether it waits for the status of another object. */
  nextReport?: { readonly at: number; readonly awaitsReport: boolean };
}

/** Minimum delay before writing a "starting" status. */
const MIN_WAIT_MS = 1_000;

/** The delay grows with the duration of the run: this many times, up to a limit. */
const RUNS_PER_REPORT = 5;
const MAX_WAIT_MS = 10_000;

/** The delay while the object waits for another object, which may wait for its own turn in a large fleet. */
const AWAIT_REPORT_MS = 30_000;

/** The reason if an object on which this one depends has no status yet. */
export const UNREPORTED = "Unreported";

/**
 * Writes the status, also after a failure, emits events for changes, and then returns the result of the run.
 * The status is written immediately, unless the object is starting and not serving yet: then it is written at
 * intervals, because the object was already accepted and most of these statuses would be out of date soon.
 */
export async function finish<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  run: FinishedRun<T, S>,
  { context, memory }: { readonly context: RunContext; readonly memory: StartMemory },
): Promise<Action> {
  const status: Partial<S> = run.object.status ?? {};
  const update = updateBy(steps, run);
  if (!isStarting(steps, run)) delete memory.nextReport;
  else if (Object.keys(mergePatchBetween(status, update(status))).length > 0) {
    const next = nextReport(steps, run.now, context.clock.now());
    if (memory.nextReport?.awaitsReport !== next.awaitsReport) memory.nextReport = next;
    const waitMs = memory.nextReport.at - run.now;
    // A longer wait means that the clock was set back.
    if (waitMs > 0 && waitMs <= AWAIT_REPORT_MS) return sooner(steps.finish(), waitMs);
    memory.nextReport = next;
  }
  return report(steps, { ...run, update }, context);
}

function updateBy<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  { object, now }: FinishedRun<T, S>,
): (status: Partial<S>) => Partial<S> {
  const { generation: observedGeneration } = object.metadata;
  const own = observedGeneration === undefined ? {} : { observedGeneration };
  return (status) => ({ ...steps.applyTo(status, { observedGeneration, now }), ...own });
}

function nextReport(
  { conditions }: Pick<Steps<CommonStatus>, "conditions">,
  begun: number,
  ended: number,
): NonNullable<StartMemory["nextReport"]> {
  const awaitsReport = [...conditions.values()].some(({ reason }) => reason === UNREPORTED);
  const byRun = Math.min(Math.max(MIN_WAIT_MS, RUNS_PER_REPORT * (ended - begun)), MAX_WAIT_MS);
  return { at: begun + (awaitsReport ? AWAIT_REPORT_MS : byRun), awaitsReport };
}

/** Whether the object is not serving yet, and only lacks what every object lacks right after its creation. */
function isStarting<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  { object, quiet }: FinishedRun<T, S>,
): boolean {
  const { conditions, hasFailed } = steps;
  const isServing = [READY, AVAILABLE].some(
    (type) =>
      findCondition(object.status?.conditions, type)?.status === "True" ||
      conditions.get(type)?.status === "True",
  );
  if (hasFailed || isServing || conditions.get(READY)?.status !== "False") return false;
  const parts = [...conditions].filter(([type, { status }]) => type !== READY && status === "False");
  return parts.every(([, { reason }]) => quiet.has(reason));
}

function sooner(action: Action, afterMs: number): Action {
  return requeue(action.kind === "requeue" ? Math.min(action.afterMs, afterMs) : afterMs);
}

async function report<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  { kind, object, quiet, update }: FinishedRun<T, S> & StatusWrite<T, S>,
  { client, events }: RunContext,
): Promise<Action> {
  try {
    const written = await writeStatus<T, S>(client, { kind, object, update });
    const [before, after] = [object.status?.conditions, written.status?.conditions];
    announceTransitions(events, written, { before, after, quiet });
  } catch (error) {
    return steps.finish(error);
  }
  return steps.finish();
}
