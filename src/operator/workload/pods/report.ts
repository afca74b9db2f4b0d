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

/** An object of ours that runs pods by a Deployment. */
export interface PodRunner extends Parent {
  readonly childName: string;
  readonly replicas: number;
  /** Present where the number follows something else than the spec. */
  readonly autoscaling?: object | undefined;
}

/** What the statuses of our kinds say about pods. */
interface PodStatus {
  images?: string[];
  pods?: string;
  readyReplicas: number;
  replicas?: number;
  selector?: string;
  phase: Phase;
}

/** What later steps need to know of pods. */
export interface PodReport {
  readonly ready: number;
  readonly rollout: Rollout;
  /** Whether the pods are what the spec asks for, but perhaps for their number. */
  readonly isServing: boolean;
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The pods of an object that was only seen so far. */
export const noPods: PodStatus = { phase: "Pending", readyReplicas: 0 };

export interface PodChange {
  /** False while a name of a child is taken: no pods are started or changed meanwhile. */
  readonly mayChange: boolean;
}

/** Reports on the pods that run while none may be started or changed. */
export function leavePods(
  deployment: Deployment | undefined,
  runner: PodRunner,
  seen: PodsSeen,
): StepResult<PodStatus, PodReport> {
  if (deployment) return reportPods(deployment, runner, seen);
  const message = `No pod is started because a name is taken; see condition ${CONFLICT}.`;
  const status = podStatus(undefined, runner);
  return { status, condition: { status: "False", reason: "NamesTaken", message } };
}

/** Reports whether the pods are what the spec asks for, and if not, what keeps them from it. */
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
    ...(rollout.lookAgainMs === undefined ? {} : { requeueAfterMs: rollout.lookAgainMs }),
  };
}

/** With what the scale subresource shows to `kubectl scale` and to autoscalers. */
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
  // An autoscaler may change the number at any time, so reaching it is no part of being ready.
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
  // Pods that are there serve whatever their number; with none, nothing is served.
  const isOnlyNumber = rollout.state === "scaling" && isScaledByOthers && availableReplicas > 0;
  return isOnlyNumber
    ? { status: "True", reason: "Scaling", message }
    : { status: "False", reason: "RollingOut", message };
}

/** That pods which served are gone is worth a warning; that there are none yet, or that none is wanted, is not. */
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

/** Whether pods that served before are gone, rather than not there yet. */
function isLoss(conditions: readonly Condition[] | undefined): boolean {
  const earlier = findCondition(conditions, AVAILABLE);
  return earlier?.status === "True" || earlier?.reason === "NoPodReady";
}

/** The pods that serve. A Deployment that can't be changed, so that there is no report, may have some all the same. */
export function readyPods(report: PodReport | undefined, deployment: Deployment | undefined): number {
  return report?.ready ?? deployment?.status?.readyReplicas ?? 0;
}

/**
 * What kstatus, and with it Flux and kubectl, take for a failure that waiting does not resolve: pods that do not become
 * ready, or, as `silence` says, that run without reaching coderd.
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
