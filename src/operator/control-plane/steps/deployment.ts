import type { ServedBy } from "../../exposure/ensure-service.ts";
import { clusterIPOf } from "../../exposure/own-service.ts";
import { clusterURL } from "../../exposure/service.ts";
import { convergeDeployment } from "../../pods/converge-deployment.ts";
import { definedVariables } from "../../pods/env-sources.ts";
import { leavePods, type PodChange, type PodReport, reportPods } from "../../pods/report.ts";
import { accessURLVariable } from "../address.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { controlPlaneDeployment } from "../resources/deployment.ts";
import type { ControlPlaneResult } from "./result.ts";

/** Keeps coderd's Deployment and reports how many of its pods serve; the value is there as soon as one does. */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { mayChange, service }: PodChange & { readonly service: ServedBy | undefined },
): Promise<ControlPlaneResult<PodReport>> {
  const { controlPlane } = snapshot;
  if (!mayChange) return leavePods(snapshot.deployment, controlPlane, snapshot);
  const envFromNames = definedVariables([accessURLVariable], controlPlane.pod, snapshot);
  const { clusterDomain } = environment.ports;
  const clusterIP = service ? service.clusterIP : clusterIPOf(snapshot.service);
  const desired = controlPlaneDeployment(controlPlane, { envFromNames, clusterDomain, clusterIP });
  const deployment = await convergeDeployment(snapshot, environment, { desired, pod: controlPlane.pod });
  const report = reportPods(deployment, controlPlane, snapshot);
  return { ...report, status: { ...report.status, url: clusterURL(controlPlane, clusterDomain) } };
}
