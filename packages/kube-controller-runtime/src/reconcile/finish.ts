import { type Condition, findCondition, READY } from "../conditions.ts";
import type { RunContext } from "../controller/controller.ts";
import { mergePatchBetween, type StatusWrite, type WithStatus, writeStatus } from "../controller/status.ts";
import type { Steps } from "../controller/steps.ts";
import type { Kind, Stored } from "../object.ts";
import { type Action, requeue } from "../queue/action.ts";
import { announceTransitions } from "./announce.ts";

/** True while people are served by an earlier spec: a change of the spec is no start. */
export const AVAILABLE = "Available";

/** What the statuses of our kinds have in common. */
export interface CommonStatus {
  conditions?: Condition[];
  observedGeneration?: number;
}

export interface FinishedRun<T extends WithStatus<S>, S extends CommonStatus> {
  readonly kind: Kind<T>;
  readonly object: Stored<T>;
  readonly now: number;
  /** Reasons that are part of a normal life: no event is emitted for them. */
  readonly quiet: ReadonlySet<string>;
}

/** Remembered of an object that starts. */
export interface StartMemory {
  /** When its next report is due, and whether it waits for that of another object. */
  nextReport?: { readonly at: number; readonly awaitsReport: boolean };
}

/** A status that says no more than that an object starts waits so long for a better one. */
const MIN_WAIT_MS = 1_000;

/** The same where everything takes long: so many times what the run took, up to a limit. */
const RUNS_PER_REPORT = 5;
const MAX_WAIT_MS = 10_000;

/** The same while it waits for the report of another object, which may wait for its own turn in a large fleet. */
const AWAIT_REPORT_MS = 30_000;

/** The reason when another object, on which this one depends, has no status yet. */
export const UNREPORTED = "Unreported";

/**
 * Writes the status, also after a failure, emits events for what changed, and then returns how the run ended. The rule: the
 * status is written at once, except while an object starts and serves nobody; then it is written now and then, because the
 * object was accepted already and most of these statuses would say more a moment later.
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
    // More than the most means that the clock was set back.
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

/** Whether nobody is served yet, and all that an object lacks is what every object lacks for a while after it was made. */
function isStarting<T extends WithStatus<S>, S extends CommonStatus>(
  steps: Steps<S>,
  { object, quiet }: FinishedRun<T, S>,
): boolean {
  const isServed = [READY, AVAILABLE].some(
    (type) =>
      findCondition(object.status?.conditions, type)?.status === "True" ||
      steps.conditions.get(type)?.status === "True",
  );
  if (steps.hasFailed || isServed || steps.conditions.get(READY)?.status !== "False") return false;
  const parts = [...steps.conditions].filter(([type, { status }]) => type !== READY && status === "False");
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
