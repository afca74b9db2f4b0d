import {
  accept,
  anyChange,
  ConfigMap,
  type Controller,
  contentChanged,
  controller,
  Deployment,
  explain,
  Ingress,
  IngressClass,
  Namespace,
  Pod,
  PodDisruptionBudget,
  type Reconcile,
  reconciler,
  reportConflicts,
  Secret,
  Service,
  Steps,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxyStatus } from "../../api/v1alpha1/workspace-proxy.ts";
import {
  addressAssigned,
  CONTROL_PLANE_INDEX,
  controlPlaneReported,
  namedControlPlane,
  objectsBehindService,
  objectsNaming,
} from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { managedByUs } from "../managed-objects.ts";
import { conflictAdvice, REQUEST_ANNOTATION } from "../names.ts";
import { awaitsAcceptance, PAUSE_ANNOTATION } from "../pause.ts";
import { namespaceTerminatingSince, namespaceWatch, objectsInNamespace } from "../terminating-namespace.ts";
import { ensureDisruptionBudget } from "../workload/disruption-budget.ts";
import { ensureExposure } from "../workload/exposure/ensure-exposure.ts";
import { ensureService } from "../workload/exposure/ensure-service.ts";
import { HTTPRoute, ListenerSet } from "../workload/exposure/gateway.ts";
import {
  INGRESS_CLASS_INDEX,
  ingressClassWatch,
  namesIngressClass,
  objectsWithIngressClass,
} from "../workload/exposure/ingress-class.ts";
import { reportImage } from "../workload/pods/image.ts";
import { POD_OWNER_INDEX, podOwnerOf, podOwners, podWatch } from "../workload/pods/owned-pods.ts";
import { availability, noPods, stalling } from "../workload/pods/report.ts";
import { rolloutChanged } from "../workload/pods/rollout.ts";
import { readCredentials } from "./credentials.ts";
import { ensureDeployment } from "./ensure-deployment.ts";
import { findCoderd } from "./find-coderd.ts";
import { reportHealth } from "./health.ts";
import { newMemory } from "./memory.ts";
import { type Environment, observe, references, type Snapshot } from "./observe.ts";
import { deregister } from "./registration/deregister.ts";
import { ensureRegistration } from "./registration/step.ts";
import { registrationOf, withDefaults } from "./spec.ts";
import { conditionTypes, quietReasons, readiness } from "./status.ts";

/** Runs workspace proxies for CoderWorkspaceProxies, and registers those without a token in coderd. */
export function workspaceProxyController(ports: CoderPorts): Controller {
  return controller("workspace-proxy")
    .for(CoderWorkspaceProxy, {
      when: anyChange,
      indexes: {
        [POD_OWNER_INDEX]: podOwnerOf("coder-workspace-proxy"),
        [CONTROL_PLANE_INDEX]: namedControlPlane,
        [INGRESS_CLASS_INDEX]: namesIngressClass,
      },
    })
    .owns([Service, Ingress, Secret, PodDisruptionBudget], { ...managedByUs, when: contentChanged })
    .owns([Deployment], { ...managedByUs, when: rolloutChanged })
    .owns([HTTPRoute, ListenerSet], { ...managedByUs, when: contentChanged, optional: true })
    .watches(Service, objectsBehindService(CoderWorkspaceProxy), { ...managedByUs, when: addressAssigned })
    .watches(CoderControlPlane, objectsNaming(CoderWorkspaceProxy), { when: controlPlaneReported })
    .watches(Pod, podOwners(CoderWorkspaceProxy), podWatch)
    .watches(Namespace, objectsInNamespace(CoderWorkspaceProxy), namespaceWatch)
    .watches(IngressClass, objectsWithIngressClass(CoderWorkspaceProxy), ingressClassWatch)
    .accepts(awaitsAcceptance, accept(CoderWorkspaceProxy, noPods))
    .refersTo(Secret, references.secrets)
    .refersTo(ConfigMap, references.configMaps)
    .reconcile(reconcile(ports));
}

function reconcile(ports: CoderPorts): Reconcile {
  return reconciler(
    {
      kind: CoderWorkspaceProxy,
      finalizer: "coder.com/workspace-proxy-cleanup",
      pausedBy: PAUSE_ANNOTATION,
      requestedBy: REQUEST_ANNOTATION,
      newMemory,
      needsCleanup: (object: Stored<CoderWorkspaceProxy>) =>
        registrationOf(withDefaults(object)) !== undefined,
      observe,
      converge,
      cleanup: deregister,
      terminatingSince: namespaceTerminatingSince,
      quiet: quietReasons,
    },
    ports,
  );
}

async function converge(snapshot: Snapshot, environment: Environment): Promise<Steps<WorkspaceProxyStatus>> {
  const steps = new Steps<WorkspaceProxyStatus>(explain);
  const coderd = await steps.run(conditionTypes.coderd, () => findCoderd(snapshot, environment));
  const access = await steps.run(conditionTypes.credentials, () =>
    readCredentials(snapshot, environment, coderd),
  );
  const registered = await steps.run(conditionTypes.registration, () =>
    ensureRegistration(snapshot, environment, access),
  );
  const [service] = await Promise.all([
    steps.run(conditionTypes.service, () => ensureService(snapshot, environment, snapshot.proxy)),
    steps.run(conditionTypes.exposure, () => ensureExposure(snapshot, environment, snapshot.proxy)),
    steps.run(conditionTypes.disruption, () => ensureDisruptionBudget(snapshot, environment, snapshot.proxy)),
  ]);
  const inputs = { coderd, token: registered?.token, service, mayChange: steps.conflicts.length === 0 };
  const pods = await steps.run(conditionTypes.deployment, () =>
    ensureDeployment(snapshot, environment, inputs),
  );
  await steps.run(conditionTypes.available, async () => availability(pods, snapshot.proxy, snapshot));
  await steps.run(conditionTypes.stalled, async () => stalling(pods, snapshot.object));
  await steps.run(conditionTypes.image, async () => reportImage(snapshot.proxy.image, snapshot.object));
  await steps.run(conditionTypes.conflict, async () =>
    reportConflicts(steps.conflicts, snapshot, conflictAdvice),
  );
  await steps.run(conditionTypes.health, () => reportHealth(snapshot, environment, registered?.seen));
  await steps.run(conditionTypes.ready, async () => ({ condition: readiness(steps.conditions) }));
  return steps;
}
