import {
  accept,
  anyChange,
  type Caches,
  type Change,
  ConfigMap,
  type ConflictAdvice,
  type Controller,
  ControllerRevision,
  contentChanged,
  controller,
  Deployment,
  explain,
  Ingress,
  IngressClass,
  type KubeObject,
  keyOfObject,
  Namespace,
  type ObjectKey,
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
  type Stored,
} from "kube-controller-runtime";
import type { ControlPlaneStatus } from "../../api/v1alpha1/control-plane.ts";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../api/v1alpha1/kinds.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { reportsOutage } from "../coderd/failure.ts";
import { CONTROL_PLANE_INDEX, namedControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { withDefaults } from "../coderd/settings.ts";
import { managedByUs } from "../managed-objects.ts";
import { conflictAdvice, identityOf, REQUEST_ANNOTATION } from "../names.ts";
import { awaitsAcceptance, PAUSE_ANNOTATION } from "../pause.ts";
import { namespaceTerminatingSince, namespaceWatch, objectsInNamespace } from "../terminating-namespace.ts";
import { checkUpgrade } from "../upgrade/check.ts";
import { imageCheckOwner } from "../upgrade/image-check.ts";
import { ensureUpgrade } from "../upgrade/step.ts";
import { ensureDisruptionBudget } from "../workload/disruption-budget.ts";
import { HTTPRoute, ListenerSet } from "../workload/exposure/gateway.ts";
import {
  INGRESS_CLASS_INDEX,
  ingressClassWatch,
  namesIngressClass,
  objectsWithIngressClass,
} from "../workload/exposure/ingress-class.ts";
import { reportImage } from "../workload/pods/image.ts";
import { POD_OWNER_INDEX, podOwnerOf, podOwners, podWatch } from "../workload/pods/owned-pods.ts";
import { availability, noPods, readyPods, stalling } from "../workload/pods/report.ts";
import { rolloutChanged } from "../workload/pods/rollout.ts";
import { ensureServiceAccount, referencedAccounts } from "../workload/rbac/ensure-service-account.ts";
import { ensureWorkspaceRbac, recordedNamespaces } from "../workload/rbac/ensure-workspace-rbac.ts";
import { behindGrant, changedByOthers } from "../workload/rbac/grant-tie.ts";
import type { Tenancy } from "../workload/rbac/tenancy.ts";
import { cleanUp, terminatingControlPlane } from "./cleanup.ts";
import { ensureDeployment } from "./ensure-deployment.ts";
import { exposeAfterFirstAdmin, serveAfterFirstAdmin } from "./first-admin/hold.ts";
import { checkPasswordSecret } from "./first-admin/password.ts";
import { ensureFirstAdmin } from "./first-admin/step.ts";
import { askingAgain, findOutage, withoutDatabase } from "./health/outage.ts";
import { askForHealth, reportHealth } from "./health/step.ts";
import { publishEntitlements } from "./license/entitlements.ts";
import { reportLicenseTerm } from "./license/term.ts";
import { ensureLicense } from "./license/upload.ts";
import { newMemory } from "./memory.ts";
import { type Environment, observe, type Snapshot } from "./observe.ts";
import { ensureOrganizationSync } from "./organization-sync.ts";
import { references } from "./references.ts";
import { checkDurability, compareAccessURL } from "./spec-warnings.ts";
import { type ControlPlaneResult, conditionTypes, quietReasons, readiness } from "./status.ts";
import { mayHoldToken } from "./token/revoke.ts";
import { usableToken } from "./token/secret.ts";
import { checkTokenSecret, ensureOperatorAccess } from "./token/step.ts";
import { upgradeQuestions, upgradeSession } from "./upgrade-questions.ts";
import { controlPlaneGrants, controlPlaneTie } from "./workspace-grants.ts";

/** Runs coderd for a CoderControlPlane, and manages its license with the operator's token. */
export function controlPlaneController(ports: CoderPorts, tenancy: Tenancy): Controller {
  const children = { ...managedByUs, when: contentChanged };
  const grants = { ...children, indexes: { [controlPlaneTie.index]: controlPlaneTie.ofGrant } };
  const foreignGrants = { ...managedByUs, when: changedByOthers };
  const dependents = { indexes: { [CONTROL_PLANE_INDEX]: namedControlPlane } };
  return (
    controller("control-plane")
      .for(CoderControlPlane, {
        when: anyChange,
        indexes: {
          [POD_OWNER_INDEX]: (object) => [
            ...podOwnerOf("coder-control-plane")(object),
            imageCheckOwner({ app: "coder-control-plane", identity: identityOf(object) }),
          ],
          [controlPlaneTie.index]: controlPlaneTie.ofOwner,
          [INGRESS_CLASS_INDEX]: namesIngressClass,
        },
      })
      .owns([ServiceAccount, Service, Ingress, Secret, PodDisruptionBudget], children)
      .owns([Deployment], { ...managedByUs, when: rolloutChanged })
      .owns([ControllerRevision], { labelSelector: managedByUs.labelSelector, when: contentChanged })
      .owns([Role, RoleBinding], grants)
      .owns([HTTPRoute, ListenerSet], { ...children, optional: true })
      .watches(Role, behindGrant(CoderControlPlane, controlPlaneTie), foreignGrants)
      .watches(RoleBinding, behindGrant(CoderControlPlane, controlPlaneTie), foreignGrants)
      // The queue controller writes the status in this process, which otherwise triggers no reconcile.
      .watches(CoderControlPlane, (object) => [keyOfObject(object)], { when: outageReported })
      .watches(CoderProvisioner, affectedControlPlane, dependents)
      .watches(CoderWorkspaceProxy, affectedControlPlane, dependents)
      .watches(CoderOrganization, affectedControlPlane, dependents)
      // Its organizationSync may name it.
      .watches(CoderOrganization, namedControlPlane, { when: organizationCreated })
      .watches(CoderGroup, affectedControlPlane, dependents)
      .watches(Pod, podOwners(CoderControlPlane), podWatch)
      .watches(Namespace, objectsInNamespace(CoderControlPlane), namespaceWatch)
      .watches(IngressClass, objectsWithIngressClass(CoderControlPlane), ingressClassWatch)
      .accepts(awaitsAcceptance, accept(CoderControlPlane, noPods))
      .refersTo(Secret, references.secrets)
      .refersTo(ConfigMap, references.configMaps)
      .refersTo(ServiceAccount, (object) => referencedAccounts(withDefaults(object)))
      .reconcile(reconcile(ports, tenancy))
  );
}

function reconcile(ports: CoderPorts, tenancy: Tenancy): Reconcile {
  return reconciler(
    {
      kind: CoderControlPlane,
      finalizer: "coder.com/workspace-rbac-cleanup",
      pausedBy: PAUSE_ANNOTATION,
      requestedBy: REQUEST_ANNOTATION,
      newMemory,
      needsCleanup: (object: Stored<CoderControlPlane>) => grantsOutside(object) || mayHoldToken(object),
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
): Promise<Steps<ControlPlaneStatus>> {
  const { controlPlane } = snapshot;
  const steps = new Steps<ControlPlaneStatus>(explain);
  const [isTokenOurs, isPasswordOurs, , , service] = await Promise.all([
    steps.run(conditionTypes.access, () => checkTokenSecret(snapshot, environment)),
    steps.run(conditionTypes.firstAdmin, () => checkPasswordSecret(snapshot, environment)),
    steps.run(conditionTypes.serviceAccount, () => ensureServiceAccount(snapshot, environment, controlPlane)),
    steps.run(conditionTypes.workspaceRbac, () => ensureWorkspaceRbac(snapshot, environment, tenancy)),
    steps.run(conditionTypes.service, () => serveAfterFirstAdmin(snapshot, environment)),
    steps.run(conditionTypes.exposure, () => exposeAfterFirstAdmin(snapshot, environment)),
    steps.run(conditionTypes.disruption, () => ensureDisruptionBudget(snapshot, environment, controlPlane)),
  ]);
  await steps.run(conditionTypes.accessURL, () => compareAccessURL(snapshot, environment));
  const serviceSelectsPods = service?.selectsOwnPods ?? false;
  const session = upgradeSession(snapshot, environment, serviceSelectsPods);
  const run = { snapshot, environment, session, ask: upgradeQuestions(snapshot, environment, session) };
  const mayChange = steps.conflicts.length === 0;
  const plan = mayChange ? await steps.run(conditionTypes.upgrading, () => ensureUpgrade(run)) : undefined;
  const pods = await steps.run(conditionTypes.deployment, () =>
    ensureDeployment(snapshot, environment, { mayChange, plan, service }),
  );
  await steps.run(conditionTypes.available, async () => availability(pods, controlPlane, snapshot));
  await steps.run(conditionTypes.stalled, async () => stalling(pods, snapshot.object));
  await steps.run(conditionTypes.image, async () => reportImage(controlPlane.image, snapshot.object));
  await steps.run(conditionTypes.conflict, async () => reportConflicts(steps.conflicts, snapshot, advice));
  const isServing = serviceSelectsPods && readyPods(pods, snapshot.deployment) > 0;
  const outage = await findOutage(snapshot, environment, {
    token: serviceSelectsPods ? usableToken(snapshot) : undefined,
    isServing,
  });
  await steps.run(conditionTypes.ready, async () => reportReadiness(steps.conditions, snapshot, outage));
  await steps.run(conditionTypes.upgradePossible, () => checkUpgrade(run));
  await steps.run(conditionTypes.database, () => checkDurability(snapshot, environment, isServing));
  const access = isTokenOurs
    ? await steps.run(conditionTypes.access, () =>
        ensureOperatorAccess(snapshot, environment, { serviceSelectsPods, isServing, tenancy }),
      )
    : undefined;
  const token = isServing ? access : undefined;
  askForHealth(snapshot, environment, { token, outage });
  if (isPasswordOurs)
    await steps.run(conditionTypes.firstAdmin, () =>
      ensureFirstAdmin(snapshot, environment, { isServing, token }),
    );
  const uploaded = await steps.run(conditionTypes.license, () => ensureLicense(snapshot, environment, token));
  const facts = await steps.run(conditionTypes.entitlements, () =>
    publishEntitlements(snapshot, environment, { token, uploaded }),
  );
  await steps.run(conditionTypes.licenseTerm, () =>
    reportLicenseTerm(snapshot, environment, { token, facts }),
  );
  const isBusy = facts?.entitlements.ok ?? false;
  await steps.run(conditionTypes.health, async () => {
    const health = await reportHealth(snapshot, environment, { token, isBusy, outage });
    return askingAgain(health, steps.conditions, { token, now: snapshot.now, memory: environment.memory });
  });
  await steps.run(conditionTypes.organizationSync, () =>
    ensureOrganizationSync(snapshot, environment, token),
  );
  return steps;
}

/** The pods are available even if coderd does not work without its database. */
function reportReadiness(
  conditions: Steps<ControlPlaneStatus>["conditions"],
  { object }: Snapshot,
  outage: CoderFailure | undefined,
): ControlPlaneResult {
  const condition = readiness(conditions, object.status?.conditions);
  return { condition: outage && condition.status === "True" ? withoutDatabase(outage) : condition };
}

function organizationCreated({ object, previous }: Change<CoderOrganization>): boolean {
  return object.status?.id !== previous?.status?.id;
}

function outageReported({ object, previous }: Change<CoderControlPlane>): boolean {
  return reportsOutage(object) && !(previous && reportsOutage(previous));
}

/**
 * For `watches`: the control plane that is waiting for an object to be deleted, or whose coderd an object had
 * a problem with.
 */
function affectedControlPlane(dependent: Stored<KubeObject>, caches: Caches): ObjectKey[] {
  return reportsOutage(dependent) ? namedControlPlane(dependent) : terminatingControlPlane(dependent, caches);
}

/** A foreign ServiceAccount can be used without changes. */
const advice: ConflictAdvice = {
  ...conflictAdvice,
  also: ({ kind }) =>
    kind.kind === "ServiceAccount" ? ["set spec.serviceAccount.disableCreate to use it without changes"] : [],
};

/**
 * Garbage collection does not work across namespaces, so the operator deletes permissions in other
 * namespaces.
 */
function grantsOutside(object: Stored<CoderControlPlane>): boolean {
  if (recordedNamespaces({ object }).length > 0) return true;
  return controlPlaneGrants(withDefaults(object)).some(({ foreign }) => foreign);
}
