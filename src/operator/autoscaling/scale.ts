import {
  type Condition,
  type ConditionState,
  type RunContext,
  type Stored,
  setCondition,
  writeStatus,
} from "kube-controller-runtime";
import { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import { provisionerConditions } from "../conditions.ts";
import { isPaused } from "../pause.ts";
import type { Decision } from "./decide.ts";
import { explainDecision } from "./explain.ts";
import { explainGrace } from "./grace-period.ts";
import { markPods, type Refusal, unmarkPods } from "./marks.ts";
import type { PoolSource } from "./observe.ts";
import type { QueueObservation } from "./pool.ts";

const { scalingActive, scalingLimited } = provisionerConditions;

/** A pool and its decision. */
export interface Decided {
  readonly source: PoolSource;
  readonly decision: Decision;
}

interface Circumstances {
  readonly observation: QueueObservation;
  /** Rejected marks of the last poll, by pool name. */
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Names of the pools whose builds exceed the grace period of their pods. */
  readonly outgrown: ReadonlySet<string>;
}

/** A pool after scaling. */
export interface Scaled extends Decided {
  readonly refusal: Refusal | undefined;
  /** Why scaling failed. */
  readonly error?: unknown;
}

/**
 * Requests the number of daemons for each pool with autoscaling. A failure of one pool does not affect the
 * others.
 */
export function scalePools(
  decided: readonly Decided[],
  circumstances: Circumstances,
  context: RunContext,
): Promise<Scaled[]> {
  return Promise.all(
    decided.map(async (each) => {
      try {
        return await scaleOne(each, circumstances, context);
      } catch (error) {
        return { ...each, refusal: undefined, error };
      }
    }),
  );
}

/** Marks come first, because they determine which pods are deleted. */
async function scaleOne(
  { source, decision }: Decided,
  { observation, refusals, outgrown }: Circumstances,
  context: RunContext,
): Promise<Scaled> {
  const before = refusals.get(source.pool.name);
  if (isPaused(source.object)) return { source, decision, refusal: before };
  if (!source.provisioner.autoscaling) {
    const refusal = await unmarkPods(source, before, context);
    // The status of a pool with a fixed number contains no scaling.
    await writeScaling(source.object, { numbers: {}, states: {} }, context);
    return { source, decision, refusal };
  }
  const refusal = observation.seen
    ? await markPods(source, { daemons: observation.queue.daemons, before }, context)
    : before;
  const possible = refusal ? withoutScaleDown(decision) : decision;
  const warning = outgrown.has(source.pool.name) ? explainGrace(source) : undefined;
  await scalePool(source, { decision: possible, warning }, context);
  return { source, decision: possible, refusal };
}

/** Without the marks of all busy pods, scaling down could delete one of them. */
function withoutScaleDown(decision: Decision): Decision {
  const { pool, replicas } = decision;
  if (replicas >= pool.replicas) return decision;
  const held = "pods of busy daemons could not be marked; see the log of the operator";
  return { ...decision, pool: { ...pool, held }, replicas: pool.replicas, cause: "held" };
}

/** Writes the number and the conditions of a pool. Sends no request if nothing changed. */
async function scalePool(
  { object }: PoolSource,
  { decision, warning }: { readonly decision: Decision; readonly warning: string | undefined },
  context: RunContext,
): Promise<void> {
  const { replicas, pool, demand, pending } = decision;
  const states = {
    [scalingActive.type]: activity(decision, warning),
    [scalingLimited.type]: limit(decision),
  };
  const numbers = { desiredReplicas: replicas, ...(demand === undefined ? {} : { pendingBuilds: pending }) };
  await writeScaling(object, { numbers, states }, context);
  if (replicas === pool.replicas || replicas === object.status?.desiredReplicas) return;
  const message = `Scaled from ${pool.replicas} to ${replicas}. ${explainDecision(decision)}`;
  context.events.event(object, { type: "Normal", reason: "Scaled", message });
}

interface Scaling {
  readonly numbers: Pick<ProvisionerStatus, "desiredReplicas" | "pendingBuilds">;
  readonly states: Readonly<Record<string, ConditionState>>;
}

async function writeScaling(
  object: Stored<CoderProvisioner>,
  { numbers, states }: Scaling,
  { client, clock }: RunContext,
): Promise<void> {
  const at = { observedGeneration: object.metadata.generation, now: clock.now() };
  const types: readonly string[] = [scalingActive.type, scalingLimited.type];
  const update = ({
    desiredReplicas: _,
    pendingBuilds: __,
    ...status
  }: Partial<ProvisionerStatus>): Partial<ProvisionerStatus> => {
    let conditions: readonly Condition[] = status.conditions ?? [];
    for (const type of types) {
      const state = states[type];
      conditions = state
        ? setCondition(conditions, type, { ...state, ...at })
        : conditions.filter((condition) => condition.type !== type);
    }
    return { ...status, ...numbers, conditions: [...conditions] };
  };
  await writeStatus<CoderProvisioner, ProvisionerStatus>(client, { kind: CoderProvisioner, object, update });
}

function activity(decision: Decision, warning: string | undefined): ConditionState {
  const { cause } = decision;
  if (cause === "blind" || cause === "capped" || cause === "fallback")
    return { status: "False", reason: "QueueUnknown", message: explainDecision(decision) };
  if (cause === "held") return { status: "False", reason: "ScalingHeld", message: explainDecision(decision) };
  const sentences = ["The number of daemons follows coderd's queue.", ...(warning ? [warning] : [])];
  return { status: "True", reason: "FollowingQueue", message: sentences.join(" ") };
}

function limit({ demand = 0, cause, pool }: Decision): ConditionState {
  if (cause === "unschedulable") {
    const message = "Existing pods cannot be scheduled; add nodes or reduce the resource requests.";
    return { status: "True", reason: "Unschedulable", message };
  }
  if (demand > pool.max) {
    const message = `More than ${pool.max} daemons are needed; increase spec.autoscaling.maxReplicas, or let builds wait.`;
    return { status: "True", reason: "AtMaximum", message };
  }
  return { status: "False", reason: "WithinLimits", message: "The number of daemons is below the maximum." };
}
