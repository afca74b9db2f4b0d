import {
  AVAILABLE,
  CONFLICT,
  type Condition,
  type ConditionState,
  type Deployment,
  findCondition,
  type StepResult,
} from "kube-controller-runtime";
import type { Phase } from "../../../api/v1alpha1/common.ts";
import { workloadConditions } from "../../conditions.ts";
import { commonLabels, type Parent, selectorOf } from "../../names.ts";
import { runningImages } from "./image.ts";
import { type PodsSeen, type Rollout, rolloutOf } from "./rollout.ts";

/** An object that runs pods with a Deployment. */
export interface PodRunner extends Parent {
  readonly childName: string;
  readonly replicas: number;
  /** Set if the number of pods does not come from the spec. */
  readonly autoscaling?: object | undefined;
}

/** Status fields about pods. */
interface PodStatus {
  images?: string[];
  pods?: string;
  readyReplicas: number;
  replicas?: number;
  selector?: string;
  phase: Phase;
}

/** Input of later steps. */
export interface PodReport {
  readonly ready: number;
  readonly rollout: Rollout;
  /** Whether the pods match the spec, possibly except for their number. */
  readonly isServing: boolean;
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Status of an object that was not reconciled yet. */
export const noPods: PodStatus = { phase: "Pending", readyReplicas: 0 };

export interface PodChange {
  /** False while the name of a child is taken: no pods are started or changed. */
  readonly mayChange: boolean;
}

/** Reports the running pods while none may be started or changed. */
export function reportUnchangedPods(
  deployment: Deployment | undefined,
  runner: PodRunner,
  seen: PodsSeen,
): StepResult<PodStatus, PodReport> {
  if (deployment) return reportPods(deployment, runner, seen);
  const message = `No pod is started because a name is taken; see condition ${CONFLICT}.`;
  const status = podStatus(undefined, runner);
  return { status, condition: { status: "False", reason: "NamesTaken", message } };
}

/** Reports whether the pods match the spec and, if not, why. */
export function reportPods(
  deployment: Deployment | undefined,
  runner: PodRunner,
  seen: PodsSeen,
): StepResult<PodStatus, PodReport> {
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  const images = runningImages(seen.pods, container?.name ?? "");
  const status = { ...podStatus(deployment, runner), images };
  const rollout = rolloutOf(deployment ?? {}, seen);
  const condition = conditionOf(deployment?.status, runner, rollout);
  return {
    status,
    condition,
    value: { ready: status.readyReplicas, rollout, isServing: condition.status === "True" },
    ...(rollout.recheckMs === undefined ? {} : { requeueAfterMs: rollout.recheckMs }),
  };
}

/** Includes the fields for the scale subresource. */
export function podStatus(deployment: Deployment | undefined, runner: PodRunner): PodStatus {
  const { readyReplicas = 0, replicas = 0 } = deployment?.status ?? {};
  const phase = readyReplicas > 0 ? "Ready" : "Pending";
  const pods = `${readyReplicas}/${runner.replicas}`;
  return { pods, readyReplicas, replicas, selector: selectorOf(commonLabels(runner)), phase };
}

function conditionOf(
  counts: Deployment["status"],
  { app, childName, replicas, autoscaling }: PodRunner,
  rollout: Rollout,
): ConditionState {
  if (rollout.state === "stalled") return { status: "False", reason: "Stalled", message: rollout.cause };
  // An autoscaler may change the number at any time, so readiness does not depend on it.
  const isScaledByOthers = app !== "coder-control-plane";
  const { updatedReplicas = 0, availableReplicas = 0, replicas: present = 0 } = counts ?? {};
  if (replicas === 0 && present === 0) {
    const why = autoscaling ? "no daemons are needed" : "spec.replicas is 0";
    const message = `Deployment "${childName}" has no pods because ${why}.`;
    return { status: isScaledByOthers ? "True" : "False", reason: "ScaledToZero", message };
  }
  if (rollout.state === "complete") {
    const message = `${replicas} of ${replicas} pods of Deployment "${childName}" match the current spec and are available.`;
    return { status: "True", reason: "AllReplicasReady", message };
  }
  const old = present - updatedReplicas;
  const numbers = `${updatedReplicas} of ${replicas} pods of Deployment "${childName}" match the current spec, ${availableReplicas} are available`;
  const message = `${numbers}${old > 0 ? `, ${count(old)} of an earlier spec remain` : ""}.`;
  // Existing pods are available regardless of their number; without pods, nothing is.
  const isOnlyNumber = rollout.state === "scaling" && isScaledByOthers && availableReplicas > 0;
  return isOnlyNumber
    ? { status: "True", reason: "Scaling", message }
    : { status: "False", reason: "RollingOut", message };
}

/** Warns only if available pods were lost, not while they start or if none are desired. */
export function availability(
  report: PodReport | undefined,
  runner: PodRunner,
  {
    object: { status },
    deployment,
  }: { readonly object: WithConditions; readonly deployment: Deployment | undefined },
): StepResult<object> {
  const ready = readyPods(report, deployment);
  if (ready > 0) {
    const message = `${count(ready)} of Deployment "${runner.childName}" ${ready === 1 ? "is" : "are"} ready.`;
    return { condition: { status: "True", reason: "PodsReady", message } };
  }
  const reason =
    runner.replicas === 0 ? "ScaledToZero" : isLoss(status?.conditions) ? "NoPodReady" : "Starting";
  const message = `No pod of Deployment "${runner.childName}" is ready; see condition DeploymentReady.`;
  return { condition: { status: "False", reason, message } };
}

/** Whether pods were available before. */
function isLoss(conditions: readonly Condition[] | undefined): boolean {
  const earlier = findCondition(conditions, AVAILABLE);
  return earlier?.status === "True" || earlier?.reason === "NoPodReady";
}

/** Number of available pods. A Deployment that must not change has no report but may have available pods. */
export function readyPods(report: PodReport | undefined, deployment: Deployment | undefined): number {
  return report?.ready ?? deployment?.status?.readyReplicas ?? 0;
}

/**
 * A failure that waiting does not resolve, for kstatus, Flux and kubectl: pods that do not become ready or,
 * according to `silence`, do not connect to coderd.
 */
export function stalling(
  report: PodReport | undefined,
  { status }: WithConditions,
  silence?: string,
): StepResult<object> {
  if (report?.rollout.state === "stalled") {
    return { condition: { status: "True", reason: "PodsNotReady", message: report.rollout.cause } };
  }
  if (silence) return { condition: { status: "True", reason: "DaemonsNotConnected", message: silence } };
  return findCondition(status?.conditions, workloadConditions.stalled.type) ? { noCondition: true } : {};
}

function count(pods: number): string {
  return pods === 1 ? "1 pod" : `${pods} pods`;
}
