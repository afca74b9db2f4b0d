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
import { conditionTypes } from "../provisioner/status.ts";
import type { Decision } from "./decide.ts";
import { explainDecision } from "./explain.ts";
import type { PoolSource } from "./pools.ts";

/** Asks the pool for the number that was decided, and reports whether it follows the queue. No request while nothing changes. */
export async function scalePool(
  { object }: PoolSource,
  { decision, warning }: { readonly decision: Decision; readonly warning: string | undefined },
  context: RunContext,
): Promise<void> {
  const { replicas, pool, demand, pending } = decision;
  const states = {
    [conditionTypes.scalingActive]: activity(decision, warning),
    [conditionTypes.scalingLimited]: limit(decision),
  };
  const numbers = { desiredReplicas: replicas, ...(demand === undefined ? {} : { pendingBuilds: pending }) };
  await writeScaling(object, { numbers, states }, context);
  if (replicas === pool.replicas || replicas === object.status?.desiredReplicas) return;
  const message = `From ${pool.replicas} to ${replicas}. ${explainDecision(decision)}`;
  context.events.event(object, { type: "Normal", reason: "Scaled", message });
}

/** Takes out of the status what a pool with a fixed number does not have. */
export async function forgetScaling({ object }: PoolSource, context: RunContext): Promise<void> {
  await writeScaling(object, { numbers: {}, states: {} }, context);
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
  const types: readonly string[] = [conditionTypes.scalingActive, conditionTypes.scalingLimited];
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
  if (cause === "blind" || cause === "fallback")
    return { status: "False", reason: "QueueUnknown", message: explainDecision(decision) };
  if (cause === "held") return { status: "False", reason: "ScalingHeld", message: explainDecision(decision) };
  const sentences = ["The number of daemons follows coderd's queue.", ...(warning ? [warning] : [])];
  return { status: "True", reason: "FollowingQueue", message: sentences.join(" ") };
}

function limit({ demand = 0, cause, pool }: Decision): ConditionState {
  if (cause === "unschedulable") {
    const message =
      "No node has room for pods that are there already; add nodes or lower the resource requests.";
    return { status: "True", reason: "Unschedulable", message };
  }
  if (demand > pool.max) {
    const message = `More than ${pool.max} daemons are wanted; raise spec.autoscaling.maxReplicas, or let builds wait.`;
    return { status: "True", reason: "AtMaximum", message };
  }
  return { status: "False", reason: "WithinLimits", message: "The maximum is not reached." };
}
