import type { RunContext } from "kube-controller-runtime";
import { clusterURL } from "../../exposure/service.ts";
import { convergeDeployment } from "../../pods/converge-deployment.ts";
import { definedVariables } from "../../pods/env-sources.ts";
import { leavePods, type PodChange, type PodReport, reportPods } from "../../pods/report.ts";
import type { Snapshot } from "../observe.ts";
import { accessURLVariable, controlPlaneDeployment } from "../resources/deployment.ts";
import type { Result } from "./result.ts";

/** Keeps coderd's Deployment and tells how many of its pods serve; the value is there as soon as one does. */
export async function ensureDeployment(
  snapshot: Snapshot,
  context: RunContext,
  { mayChange }: PodChange,
): Promise<Result<PodReport>> {
  const { controlPlane } = snapshot;
  if (!mayChange) return leavePods(snapshot.deployment, controlPlane, snapshot);
  const { namespace } = controlPlane.identity;
  const envFromNames = await definedVariables([accessURLVariable], controlPlane.pod, {
    namespace,
    context,
    deployment: snapshot.deployment,
  });
  const desired = controlPlaneDeployment(controlPlane, envFromNames);
  const deployment = await convergeDeployment(desired, snapshot, context);
  const report = reportPods(deployment, controlPlane, snapshot);
  return { ...report, status: { ...report.status, url: clusterURL(controlPlane) } };
}
