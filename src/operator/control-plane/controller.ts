import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { type Action, awaitChange } from "../../runtime/controller/action.ts";
import { type Controller, controller, type RunContext } from "../../runtime/controller/controller.ts";
import { finalizer } from "../../runtime/controller/finalizer.ts";
import { writeStatus } from "../../runtime/controller/status.ts";
import { Steps } from "../../runtime/controller/steps.ts";
import {
  ConfigMap,
  Deployment,
  Ingress,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from "../../runtime/kinds.ts";
import { keyOfObject, type ObjectKey, type Stored } from "../../runtime/object.ts";
import { announceTransitions } from "../shared/announce.ts";
import { envFromRefs } from "../shared/env-sources.ts";
import { explain } from "../shared/explain.ts";
import { HTTPRoute } from "../shared/gateway.ts";
import { managedByUs } from "../shared/names.ts";
import { GRANT_INDEX, grantOwnerOfControlPlane, grantOwnerOfLabels } from "./grants.ts";
import { observe, type Snapshot } from "./observe.ts";
import { workspaceGrants } from "./resources/workspace-rbac.ts";
import { conditionTypes, quietReasons, readiness, withObservedGeneration } from "./status.ts";
import { ensureDeployment } from "./steps/deployment.ts";
import { ensureExposure } from "./steps/exposure.ts";
import { ensureService } from "./steps/service.ts";
import { ensureServiceAccount } from "./steps/service-account.ts";
import { ensureWorkspaceRbac, removeForeignGrants } from "./steps/workspace-rbac.ts";

const rbacFinalizer = "coder.com/workspace-rbac-cleanup";

/** Runs coderd from a CoderControlPlane. */
export function controlPlaneController(): Controller {
  const grants = { ...managedByUs, indexes: { [GRANT_INDEX]: grantOwnerOfLabels } };
  return controller("control-plane")
    .for(CoderControlPlane, { indexes: { [GRANT_INDEX]: grantOwnerOfControlPlane } })
    .owns([ServiceAccount, Deployment, Service, Ingress], managedByUs)
    .owns([Role, RoleBinding], grants)
    .owns([HTTPRoute], { ...managedByUs, optional: true })
    .watches(Role, grantedControlPlanes)
    .watches(RoleBinding, grantedControlPlanes)
    .refersTo(Secret, ({ spec, metadata }) => envFromRefs("Secret", spec?.envFrom ?? [], metadata.namespace))
    .refersTo(ConfigMap, ({ spec, metadata }) =>
      envFromRefs("ConfigMap", spec?.envFrom ?? [], metadata.namespace),
    )
    .reconcile(reconcile);
}

async function reconcile(key: ObjectKey, context: RunContext): Promise<Action> {
  const object = context.caches.of(CoderControlPlane).get(key);
  if (!object) return awaitChange;
  return finalizer(context.client, rbacFinalizer, {
    kind: CoderControlPlane,
    object,
    wanted: needsCleanup(observe(object, context)),
    apply: (current) => converge(observe(current, context), context),
    cleanup: (current) => removeForeignGrants(observe(current, context), context),
  });
}

async function converge(snapshot: Snapshot, context: RunContext): Promise<Action> {
  const steps = new Steps<ControlPlaneStatus>(explain);
  await steps.run(conditionTypes.serviceAccount, () => ensureServiceAccount(snapshot, context));
  await steps.run(conditionTypes.workspaceRbac, () => ensureWorkspaceRbac(snapshot, context));
  await steps.run(conditionTypes.deployment, () => ensureDeployment(snapshot, context));
  await steps.run(conditionTypes.service, () => ensureService(snapshot, context));
  await steps.run(conditionTypes.exposure, () => ensureExposure(snapshot, context));
  await steps.run(conditionTypes.ready, async () => ({ condition: readiness(steps.conditions) }));
  return finish(steps, snapshot, context);
}

/** Writes the status, also after a failure, tells what changed, and then says how the run ended. */
async function finish(
  steps: Steps<ControlPlaneStatus>,
  { object, now }: Snapshot,
  { client, events }: RunContext,
): Promise<Action> {
  const observedGeneration = object.metadata.generation;
  try {
    const written = await writeStatus(client, {
      kind: CoderControlPlane,
      object,
      update: (status) =>
        withObservedGeneration(steps.applyTo(status, { observedGeneration, now }), observedGeneration),
    });
    const [before, after] = [object.status?.conditions, written.status?.conditions];
    announceTransitions(events, written, { before, after, quiet: quietReasons });
  } catch (error) {
    return steps.finish(error);
  }
  return steps.finish();
}

/** Garbage collection ends at the namespace: grants in others are ours to remove. */
function needsCleanup({ controlPlane, foreignGrants }: Snapshot): boolean {
  const wanted = workspaceGrants(controlPlane).some(({ foreign }) => foreign);
  return wanted || foreignGrants.roles.length > 0 || foreignGrants.roleBindings.length > 0;
}

/** The control planes behind a Role or RoleBinding of another namespace. */
function grantedControlPlanes(grant: Stored<Role>, caches: RunContext["caches"]): ObjectKey[] {
  const controlPlanes = caches.of(CoderControlPlane);
  return grantOwnerOfLabels(grant).flatMap((owner) =>
    controlPlanes.byIndex(GRANT_INDEX, owner).map(keyOfObject),
  );
}
