import {
  accept,
  allOf,
  anyChange,
  type Change,
  ConfigMap,
  type Controller,
  contentChanged,
  controller,
  Deployment,
  explain,
  keyOfObject,
  Namespace,
  Pod,
  PodDisruptionBudget,
  type Reconcile,
  Role,
  RoleBinding,
  reconciler,
  reportConflicts,
  Secret,
  Service,
  ServiceAccount,
  Steps,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import type { ProvisionerStatus } from "../../api/v1alpha1/provisioner.ts";
import {
  addressAssigned,
  CONTROL_PLANE_INDEX,
  controlPlaneReported,
  findControlPlane,
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
import { reportImage } from "../workload/pods/image.ts";
import { POD_OWNER_INDEX, podOwnerOfProvisioner, podOwners, podWatch } from "../workload/pods/owned-pods.ts";
import { availability, noPods, stalling } from "../workload/pods/report.ts";
import { rolloutChanged } from "../workload/pods/rollout.ts";
import { ensureServiceAccount, referencedAccounts } from "../workload/rbac/ensure-service-account.ts";
import { ensureWorkspaceRbac } from "../workload/rbac/ensure-workspace-rbac.ts";
import { behindGrant, changedByOthers } from "../workload/rbac/grant-tie.ts";
import type { Tenancy } from "../workload/rbac/tenancy.ts";
import { accessConditions, forgetUnused, openAccess } from "./access.ts";
import { cleanUp } from "./cleanup.ts";
import { confirmDaemons } from "./daemons.ts";
import { ensureDeployment } from "./ensure-deployment.ts";
import { checkEntitlement } from "./entitlement.ts";
import { ensureKey, ensureKeySecret } from "./key/step.ts";
import { newMemory } from "./memory.ts";
import { type Environment, observe, references, type Snapshot } from "./observe.ts";
import { withDefaults } from "./spec.ts";
import { conditionTypes, type ProvisionerResult, quietReasons, readiness } from "./status.ts";
import { provisionerTie } from "./workspace-grants.ts";

/** Runs provisioner daemons for a CoderProvisioner, with a key that it creates and rotates automatically. */
export function provisionerController(ports: CoderPorts, tenancy: Tenancy): Controller {
  const grants = {
    ...managedByUs,
    when: contentChanged,
    indexes: { [provisionerTie.index]: provisionerTie.ofGrant },
  };
  const foreignGrants = { ...managedByUs, when: changedByOthers };
  const indexes = {
    [POD_OWNER_INDEX]: podOwnerOfProvisioner,
    [CONTROL_PLANE_INDEX]: namedControlPlane,
    [provisionerTie.index]: provisionerTie.ofOwner,
  };
  return (
    controller("provisioner")
      .for(CoderProvisioner, { when: anyChange, indexes })
      .watches(CoderProvisioner, (object) => [keyOfObject(object)], { when: replicasChanged })
      .owns([Secret, ServiceAccount, PodDisruptionBudget], { ...managedByUs, when: contentChanged })
      .owns([Role, RoleBinding], grants)
      .watches(Role, behindGrant(CoderProvisioner, provisionerTie), foreignGrants)
      .watches(RoleBinding, behindGrant(CoderProvisioner, provisionerTie), foreignGrants)
      .owns([Deployment], { ...managedByUs, when: rolloutChanged })
      .watches(Service, objectsBehindService(CoderProvisioner), { ...managedByUs, when: addressAssigned })
      .watches(CoderControlPlane, objectsNaming(CoderProvisioner), { when: controlPlaneReported })
      // The pods of a pool change together, and their Deployment right after them.
      .watches(Pod, podOwners(CoderProvisioner), { ...podWatch, settleMs: 100 })
      .watches(Namespace, objectsInNamespace(CoderProvisioner), namespaceWatch)
      .accepts(awaitsAcceptance, accept(CoderProvisioner, noPods))
      .refersTo(Secret, references.secrets)
      .refersTo(ConfigMap, references.configMaps)
      .refersTo(ServiceAccount, (object) => referencedAccounts(withDefaults(object)))
      .reconcile(reconcile(ports, tenancy))
  );
}

/** Autoscaling requests a different number of daemons. */
function replicasChanged({ object, previous }: Change<CoderProvisioner>): boolean {
  return object.status?.desiredReplicas !== previous?.status?.desiredReplicas;
}

function reconcile(ports: CoderPorts, tenancy: Tenancy): Reconcile {
  return reconciler(
    {
      kind: CoderProvisioner,
      finalizer: "coder.com/provisioner-key-cleanup",
      pausedBy: PAUSE_ANNOTATION,
      requestedBy: REQUEST_ANNOTATION,
      newMemory,
      needsCleanup: () => true,
      observe,
      converge: (snapshot: Snapshot, environment: Environment) => converge(snapshot, environment, tenancy),
      terminatingSince: namespaceTerminatingSince,
      quiet: quietReasons,
      cleanup: cleanUp,
    },
    ports,
  );
}

async function converge(
  snapshot: Snapshot,
  environment: Environment,
  tenancy: Tenancy,
): Promise<Steps<ProvisionerStatus>> {
  const { identity, controlPlaneName: name } = snapshot.provisioner;
  const access = accessConditions(snapshot);
  const steps = new Steps<ProvisionerStatus>(explain);
  const controlPlane = await steps.run(conditionTypes.controlPlane, async () =>
    findControlPlane(
      { namespace: identity.namespace, name },
      snapshot.controlPlanes.get(name ?? ""),
      environment.ports,
    ),
  );
  const session = await steps.run(access.used, () => openAccess(snapshot, environment, controlPlane));
  await steps.run(access.unused, () => forgetUnused(snapshot, access.unused));
  const entitled = await steps.run(conditionTypes.entitled, () =>
    checkEntitlement(snapshot, environment, session),
  );
  const outcome = await steps.run(conditionTypes.key, () =>
    ensureKey(snapshot, environment, session && { session, entitled: entitled ?? false }),
  );
  const key = await steps.run(conditionTypes.keySecret, () =>
    ensureKeySecret(snapshot, environment, outcome),
  );
  // Existing permissions follow the spec even without a key, because revoked permissions must be removed.
  const hasGrants = snapshot.deployment || snapshot.object.status?.workspaceNamespaces?.length;
  if (key || hasGrants)
    await steps.run(conditionTypes.rbac, () => ensurePermissions(snapshot, environment, tenancy));
  await steps.run(conditionTypes.disruption, () =>
    ensureDisruptionBudget(snapshot, environment, snapshot.provisioner),
  );
  const daemons = { key, controlPlane, mayChange: steps.conflicts.length === 0 };
  const pods = await steps.run(conditionTypes.deployment, () =>
    ensureDeployment(snapshot, environment, daemons),
  );
  const silent = await steps.run(conditionTypes.daemons, () =>
    confirmDaemons(snapshot, environment, { session, outcome, pods }),
  );
  await steps.run(conditionTypes.available, async () => availability(pods, snapshot.provisioner, snapshot));
  await steps.run(conditionTypes.stalled, async () => stalling(pods, snapshot.object, silent?.stalled));
  await steps.run(conditionTypes.image, async () => reportImage(snapshot.provisioner.image, snapshot.object));
  await steps.run(conditionTypes.conflict, async () =>
    reportConflicts(steps.conflicts, snapshot, conflictAdvice),
  );
  await steps.run(conditionTypes.ready, async () => ({
    condition: readiness(steps.conditions, snapshot.object.status?.conditions),
  }));
  return steps;
}

/** The ServiceAccount of the daemons and its permissions. Pods need both, so they share a condition. */
async function ensurePermissions(
  snapshot: Snapshot,
  environment: Environment,
  tenancy: Tenancy,
): Promise<ProvisionerResult> {
  const account = ensureServiceAccount(snapshot, environment, snapshot.provisioner);
  const permissions = ensureWorkspaceRbac(snapshot, environment, tenancy);
  await allOf<unknown>([account, permissions]);
  const { condition } = await account;
  return { ...(await permissions), ...(condition?.status === "False" ? { condition } : {}) };
}
