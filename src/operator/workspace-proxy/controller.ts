import {
  type Action,
  ConfigMap,
  type Controller,
  contentChanged,
  controller,
  Deployment,
  Ingress,
  Secret,
  Service,
  Steps,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import type { WorkspaceProxyStatus } from "../../api/v1alpha1/workspace-proxy.ts";
import { accept, isNew } from "../shared/accept.ts";
import { reportConflicts } from "../shared/conflict.ts";
import { explain } from "../shared/explain.ts";
import { finish } from "../shared/finish.ts";
import { HTTPRoute } from "../shared/gateway.ts";
import { managedByUs } from "../shared/names.ts";
import type { CoderPorts } from "../shared/ports.ts";
import { reconciler } from "../shared/reconciler.ts";
import { rolloutMoved } from "../shared/rollout-moved.ts";
import {
  CONTROL_PLANE_INDEX,
  controlPlaneReported,
  namedControlPlane,
  thoseNaming,
} from "../shared/session.ts";
import { ensureExposure } from "../shared/steps/exposure.ts";
import { ensureService } from "../shared/steps/service.ts";
import { type Environment, observe, type Snapshot } from "./observe.ts";
import { referencedConfigMaps, referencedSecrets } from "./references.ts";
import { registrationOf, withDefaults } from "./spec.ts";
import { conditionTypes, quietReasons, readiness } from "./status.ts";
import { findCoderd } from "./steps/coderd.ts";
import { readCredentials } from "./steps/credentials.ts";
import { ensureDeployment } from "./steps/deployment.ts";
import { deregister } from "./steps/deregistration.ts";
import { reportHealth } from "./steps/health.ts";
import { ensureRegistration } from "./steps/registration.ts";

/** Runs workspace proxies from CoderWorkspaceProxies, and registers those at coderd that bring no token. */
export function workspaceProxyController(ports: CoderPorts): Controller {
  return controller("workspace-proxy")
    .for(CoderWorkspaceProxy, { indexes: { [CONTROL_PLANE_INDEX]: namedControlPlane } })
    .owns([Service, Ingress, Secret], { ...managedByUs, when: contentChanged })
    .owns([Deployment], { ...managedByUs, when: rolloutMoved })
    .owns([HTTPRoute], { ...managedByUs, when: contentChanged, optional: true })
    .watches(CoderControlPlane, thoseNaming(CoderWorkspaceProxy), { when: controlPlaneReported })
    .accepts(isNew, accept(CoderWorkspaceProxy))
    .refersTo(Secret, referencedSecrets)
    .refersTo(ConfigMap, referencedConfigMaps)
    .reconcile(reconciler(reconciliation, ports));
}

const reconciliation = {
  kind: CoderWorkspaceProxy,
  finalizer: "coder.com/workspace-proxy-cleanup",
  leavesTraces: (object: Stored<CoderWorkspaceProxy>) => registrationOf(withDefaults(object)) !== undefined,
  observe,
  converge,
  cleanup: deregister,
};

async function converge(snapshot: Snapshot, environment: Environment): Promise<Action> {
  const { context } = environment;
  const { object, proxy, owner, now } = snapshot;
  const steps = new Steps<WorkspaceProxyStatus>(explain);
  const coderd = await steps.run(conditionTypes.coderd, () => findCoderd(snapshot, context));
  const access = await steps.run(conditionTypes.credentials, () =>
    readCredentials(snapshot, environment, coderd),
  );
  const standing = await steps.run(conditionTypes.registration, () =>
    ensureRegistration(snapshot, environment, access),
  );
  await Promise.all([
    steps.run(conditionTypes.service, () => ensureService(proxy, snapshot, context)),
    steps.run(conditionTypes.exposure, () => ensureExposure(proxy, owner, context)),
  ]);
  const mayChange = steps.conflicts.length === 0;
  await steps.run(conditionTypes.deployment, () =>
    ensureDeployment(snapshot, { coderd, token: standing?.token, mayChange }, context),
  );
  await steps.run(conditionTypes.conflict, async () => reportConflicts(steps.conflicts, snapshot));
  await steps.run(conditionTypes.health, () => reportHealth(snapshot, standing?.seen));
  await steps.run(conditionTypes.ready, async () => ({ condition: readiness(steps.conditions) }));
  return finish(steps, { kind: CoderWorkspaceProxy, object, now, quiet: quietReasons }, environment);
}
