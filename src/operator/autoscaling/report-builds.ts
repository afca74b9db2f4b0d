import {
  type ConditionState,
  findCondition,
  type RunContext,
  type Stored,
  setCondition,
  writeStatus,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { controlPlaneConditions } from "../conditions.ts";
import { isPaused } from "../pause.ts";

const BUILDS_SERVED = controlPlaneConditions.builds.type;

/**
 * Updates the condition of the control plane, and emits an event when builds start or stop waiting. Sends no
 * request if nothing changed.
 */
export async function reportBuilds(
  object: Stored<CoderControlPlane>,
  condition: ConditionState | "nothing",
  { client, clock, events }: RunContext,
): Promise<void> {
  if (isPaused(object)) return;
  const at = { observedGeneration: object.metadata.generation, now: clock.now() };
  const update = (status: Partial<ControlPlaneStatus>): Partial<ControlPlaneStatus> => {
    const conditions = status.conditions ?? [];
    if (condition !== "nothing")
      return { ...status, conditions: [...setCondition(conditions, BUILDS_SERVED, { ...condition, ...at })] };
    const others = conditions.filter(({ type }) => type !== BUILDS_SERVED);
    return others.length === conditions.length ? status : { ...status, conditions: others };
  };
  const before = findCondition(object.status?.conditions, BUILDS_SERVED);
  await writeStatus<CoderControlPlane, ControlPlaneStatus>(client, {
    kind: CoderControlPlane,
    object,
    update,
  });
  if (condition === "nothing") return;
  const { status, reason, message } = condition;
  if (status === "False" && before?.reason !== reason)
    events.event(object, { type: "Warning", reason, message });
  if (status === "True" && before?.status === "False")
    events.event(object, { type: "Normal", reason, message });
}
