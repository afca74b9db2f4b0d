import type { Deployment, Stored } from "kube-controller-runtime";
import { accessURLVariable } from "../coderd/address.ts";
import type { PodPlan } from "../upgrade/step.ts";
import { convergeDeployment } from "../workload/converge-deployment.ts";
import { definedVariables } from "../workload/env-sources.ts";
import type { ServiceState } from "../workload/exposure/ensure-service.ts";
import { clusterIPOf, clusterURL } from "../workload/exposure/service.ts";
import { type PodChange, type PodReport, reportPods, reportUnchangedPods } from "../workload/pods/report.ts";
import { migrationProbe, type ProbeSettings, quickStartProbe } from "../workload/probes.ts";
import type { PodSettings } from "../workload/settings.ts";
import { controlPlaneDeployment, type DeploymentInputs } from "./deployment.ts";
import type { Environment, Snapshot } from "./observe.ts";
import type { ControlPlaneResult } from "./status.ts";

interface Change extends PodChange {
  readonly service: ServiceState | undefined;
  /** How to apply the pods. If absent, they do not change. */
  readonly plan: PodPlan | undefined;
}

/**
 * Applies coderd's Deployment and reports its available pods. Returns a value as soon as a pod is available.
 */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { mayChange, service, plan }: Change,
): Promise<ControlPlaneResult<PodReport>> {
  const { controlPlane } = snapshot;
  const { clusterDomain } = environment.ports;
  const clusterIP = service ? service.clusterIP : clusterIPOf(snapshot.service);
  const shape = plan && shaped(plan, snapshot, { clusterDomain, clusterIP });
  if (!mayChange || !shape) return reportUnchangedPods(snapshot.deployment, controlPlane, snapshot);
  const { pod } = controlPlane;
  const isPaused = plan.isReplacing && snapshot.deployment?.spec?.paused === true;
  const desired = isPaused && shape.spec ? { ...shape, spec: { ...shape.spec, paused: false } } : shape;
  if (isPaused)
    environment.own.emit(
      "Normal",
      "DeploymentResumed",
      `Resumed the paused Deployment "${controlPlane.childName}" because the upgrade replaces its pods.`,
    );
  const deployment =
    frozen(plan, snapshot) ?? (await convergeDeployment(snapshot, environment, { desired, pod }));
  const report = reportPods(deployment, { ...controlPlane, replicas: plan.shape.replicas }, snapshot);
  const url = clusterURL(controlPlane, clusterDomain);
  return { ...duringUpgrade(report, plan), status: { ...report.status, ...plan.settles, url } };
}

/** The Deployment if it must not change now. */
function frozen({ isFrozen, shape }: PodPlan, { deployment }: Snapshot): Stored<Deployment> | undefined {
  const { replicas, paused = false } = deployment?.spec ?? {};
  return isFrozen && !paused && replicas === shape.replicas ? deployment : undefined;
}

/** The Deployment in the shape that an upgrade requires, or undefined if it must not change. */
function shaped(
  { shape, isUpgrading }: PodPlan,
  snapshot: Snapshot,
  address: Pick<DeploymentInputs, "clusterDomain" | "clusterIP">,
): Deployment | undefined {
  const { controlPlane, deployment } = snapshot;
  const envFromNames = definedVariables([accessURLVariable], controlPlane.pod, snapshot);
  const image = shape.template === "spec" ? shape.image : controlPlane.image;
  const settings = { ...controlPlane, image, replicas: shape.replicas };
  const startupProbe = startupProbeOf(deployment, { isUpgrading, pod: controlPlane.pod });
  const desired = controlPlaneDeployment(settings, { ...address, envFromNames, startupProbe });
  if (shape.template === "spec") return desired;
  return desired.spec && { ...desired, spec: { ...desired.spec, template: shape.template } };
}

/**
 * Without a startup probe, a liveness probe would kill a migrating pod, and a readiness probe would delay its
 * readiness. The startup probe is added only together with other changes of the template, and then kept, so
 * that an upgrade of the operator does not replace pods.
 */
function startupProbeOf(
  deployment: Deployment | undefined,
  { isUpgrading, pod }: { readonly isUpgrading: boolean; readonly pod: PodSettings },
): ProbeSettings | undefined {
  const { livenessProbe, startupProbe } = deployment?.spec?.template.spec?.containers[0] ?? {};
  const isQuick = startupProbe?.periodSeconds === quickStartProbe.periodSeconds;
  if ((isUpgrading || isQuick) && (pod.readinessProbe || pod.livenessProbe)) {
    const { timeoutSeconds } = quickStartProbe;
    return { ...quickStartProbe, timeoutSeconds: (isQuick && startupProbe.timeoutSeconds) || timeoutSeconds };
  }
  const isGuarded = !livenessProbe || startupProbe !== undefined;
  return pod.livenessProbe && isGuarded ? migrationProbe : undefined;
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
