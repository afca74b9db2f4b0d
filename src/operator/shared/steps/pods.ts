import type { Phase } from "../../../api/v1alpha1/common.ts";
import type { StepResult } from "../../../runtime/controller/steps.ts";
import type { Deployment } from "../../../runtime/kinds.ts";
import { labelValue, type Parent } from "../names.ts";

/** An object of ours that runs pods by a Deployment. */
export interface PodRunner extends Parent {
  readonly childName: string;
  readonly replicas: number;
}

/** What the statuses of our kinds say about pods. */
interface PodStatus {
  readyReplicas: number;
  phase: Phase;
}

/** Tells how many pods of the Deployment are ready; the value is there as soon as one is. */
export function reportPods(
  deployment: Deployment | undefined,
  { childName, identity, replicas }: PodRunner,
): StepResult<PodStatus, true> {
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  const status: PodStatus = { readyReplicas, phase: readyReplicas > 0 ? "Ready" : "Pending" };
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
