import type { Deployment, StepResult } from "kube-controller-runtime";
import { CONFLICT } from "kube-controller-runtime";
import type { Phase } from "../../api/v1alpha1/common.ts";
import { commonLabels, labelValue, type Parent } from "../names.ts";

/** An object of ours that runs pods by a Deployment. */
export interface PodRunner extends Parent {
  readonly childName: string;
  readonly replicas: number;
}

/** What the statuses of our kinds say about pods. */
interface PodStatus {
  readyReplicas: number;
  replicas?: number;
  selector?: string;
  phase: Phase;
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
): StepResult<PodStatus, true> {
  const report = reportPods(deployment, runner);
  if (deployment) return report;
  const message = `No pod is started while a name is taken; see condition ${CONFLICT}.`;
  return { ...report, condition: { status: "False", reason: "NamesTaken", message } };
}

/** Reports how many pods of the Deployment are ready; the value is there as soon as one is. */
export function reportPods(
  deployment: Deployment | undefined,
  runner: PodRunner,
): StepResult<PodStatus, true> {
  const { childName, identity, replicas } = runner;
  const status = podStatus(deployment, runner);
  const { readyReplicas } = status;
  const count = `${readyReplicas} of ${replicas} pods of Deployment "${childName}" are ready`;
  if (readyReplicas > 0) {
    const reason = readyReplicas >= replicas ? "AllReplicasReady" : "SomeReplicasReady";
    return { status, condition: { status: "True", reason, message: count }, value: true };
  }
  if (replicas === 0) {
    return { status, condition: { status: "False", reason: "ScaledToZero", message: "spec.replicas is 0" } };
  }
  const hint = `kubectl -n ${identity.namespace} describe pods -l app.kubernetes.io/instance=${labelValue(identity.name)}`;
  return {
    status,
    condition: { status: "False", reason: "NoReplicaReady", message: `${count}; see: ${hint}` },
  };
}

/** With what the scale subresource shows to `kubectl scale` and to autoscalers. */
function podStatus(deployment: Deployment | undefined, runner: PodRunner): PodStatus {
  const { readyReplicas = 0, replicas = 0 } = deployment?.status ?? {};
  const labels = Object.entries(commonLabels(runner)).map(([name, value]) => `${name}=${value}`);
  const phase = readyReplicas > 0 ? "Ready" : "Pending";
  return { readyReplicas, replicas, selector: labels.join(","), phase };
}
