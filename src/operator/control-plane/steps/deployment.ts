import type { Deployment } from "kube-controller-runtime";
import type { ServedBy } from "../../exposure/ensure-service.ts";
import { clusterIPOf } from "../../exposure/own-service.ts";
import { clusterURL } from "../../exposure/service.ts";
import { convergeDeployment } from "../../pods/converge-deployment.ts";
import { definedVariables } from "../../pods/env-sources.ts";
import { leavePods, type PodChange, type PodReport, reportPods } from "../../pods/report.ts";
import { accessURLVariable } from "../address.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { controlPlaneDeployment, type DeploymentInputs } from "../resources/deployment.ts";
import type { ControlPlaneResult } from "../status.ts";
import type { PodPlan } from "../upgrade/step.ts";

interface Change extends PodChange {
  readonly service: ServedBy | undefined;
  /** What the pods are to be; without it they stay as they are. */
  readonly plan: PodPlan | undefined;
}

/** Keeps coderd's Deployment and reports how many of its pods serve; the value is there as soon as one does. */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { mayChange, service, plan }: Change,
): Promise<ControlPlaneResult<PodReport>> {
  const { controlPlane } = snapshot;
  const { clusterDomain } = environment.ports;
  const clusterIP = service ? service.clusterIP : clusterIPOf(snapshot.service);
  const shape = plan && shaped(plan, snapshot, { clusterDomain, clusterIP });
  if (!mayChange || !shape) return leavePods(snapshot.deployment, controlPlane, snapshot);
  const { pod } = controlPlane;
  const isPaused = plan.isReplacing && snapshot.deployment?.spec?.paused === true;
  const desired = isPaused && shape.spec ? { ...shape, spec: { ...shape.spec, paused: false } } : shape;
  if (isPaused)
    environment.own.emit(
      "Normal",
      "DeploymentResumed",
      `Resumes Deployment "${controlPlane.childName}", which was paused: the upgrade replaces its pods.`,
    );
  const deployment = await convergeDeployment(snapshot, environment, { desired, pod });
  const report = reportPods(deployment, { ...controlPlane, replicas: plan.shape.replicas }, snapshot);
  const url = clusterURL(controlPlane, clusterDomain);
  return { ...duringUpgrade(report, plan), status: { ...report.status, ...plan.settles, url } };
}

/** The Deployment as an upgrade wants it; undefined where it has to stay as it is. */
function shaped(
  { shape, isUpgrading }: PodPlan,
  snapshot: Snapshot,
  address: Pick<DeploymentInputs, "clusterDomain" | "clusterIP">,
): Deployment | undefined {
  const { controlPlane, deployment } = snapshot;
  const envFromNames = definedVariables([accessURLVariable], controlPlane.pod, snapshot);
  const image = shape.template === "spec" ? shape.image : controlPlane.image;
  const settings = { ...controlPlane, image, replicas: shape.replicas };
  const isStartGuarded = isUpgrading || hasStartGuard(deployment);
  const desired = controlPlaneDeployment(settings, { ...address, envFromNames, isStartGuarded });
  if (shape.template === "spec") return desired;
  return desired.spec && { ...desired, spec: { ...desired.spec, template: shape.template } };
}

/**
 * A liveness probe would kill a pod that migrates, unless a startup probe comes first. It is added where the template
 * changes anyway, so that a new version of the operator replaces no pod for it.
 */
function hasStartGuard(deployment: Deployment | undefined): boolean {
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  return !container?.livenessProbe || container.startupProbe !== undefined;
}

function duringUpgrade(
  result: ControlPlaneResult<PodReport>,
  { report }: PodPlan,
): ControlPlaneResult<PodReport> {
  const { value } = result;
  if (!report || !value) return result;
  const { isStalled, ...condition } = report;
  const rollout = isStalled
    ? ({ state: "stalled", cause: report.message } as const)
    : ({ state: "moving" } as const);
  return { ...result, condition, value: { ...value, rollout } };
}
