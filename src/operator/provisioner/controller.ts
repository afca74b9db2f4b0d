import {
  type Action,
  accept,
  type Change,
  type Controller,
  contentChanged,
  controller,
  Deployment,
  explain,
  finish,
  keyOfObject,
  Pod,
  PodDisruptionBudget,
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
  CONTROL_PLANE_INDEX,
  controlPlaneReported,
  findControlPlane,
  namedControlPlane,
  thoseNaming,
} from "../control-plane/session.ts";
import { conflictAdvice, managedByUs } from "../names.ts";
import { awaitsAcceptance, PAUSE_ANNOTATION } from "../pause.ts";
import { ensureDisruptionBudget } from "../pods/ensure-disruption-budget.ts";
import { POD_OWNER_INDEX, podOwnerOf, podOwners, podWatch } from "../pods/our-pods.ts";
import { availability, noPods, stalling } from "../pods/report.ts";
import { rolloutMoved } from "../pods/rollout-moved.ts";
import type { CoderPorts } from "../ports.ts";
import { releaseKeys } from "./cleanup.ts";
import { type Environment, observe, type Snapshot } from "./observe.ts";
import { referencedSecrets } from "./references.ts";
import { conditionTypes, quietReasons, readiness } from "./status.ts";
import { accessConditions, forgetUnused, openAccess } from "./steps/access.ts";
import { ensureDeployment } from "./steps/deployment.ts";
import { checkEntitlement } from "./steps/entitlement.ts";
import { ensureKey } from "./steps/key.ts";
import { ensureKeySecret } from "./steps/key-secret.ts";
import { ensureWorkspaceRbac } from "./steps/workspace-rbac.ts";

/** Runs provisioner daemons from a CoderProvisioner, with a key that it makes and replaces by itself. */
export function provisionerController(ports: CoderPorts): Controller {
  return (
    controller("provisioner")
      .for(CoderProvisioner, {
        indexes: {
          [POD_OWNER_INDEX]: podOwnerOf("coder-provisioner"),
          [CONTROL_PLANE_INDEX]: namedControlPlane,
        },
      })
      .watches(CoderProvisioner, (object) => [keyOfObject(object)], { when: numberMoved })
      .owns([Secret, ServiceAccount, Role, RoleBinding, PodDisruptionBudget], {
        ...managedByUs,
        when: contentChanged,
      })
      .owns([Deployment], { ...managedByUs, when: rolloutMoved })
      // To see where tokens go; whoever has to wait for a Service looks again by himself.
      .watches(Service, () => [], managedByUs)
      .watches(CoderControlPlane, thoseNaming(CoderProvisioner), { when: controlPlaneReported })
      .watches(Pod, podOwners(CoderProvisioner), podWatch)
      .accepts(awaitsAcceptance, accept(CoderProvisioner, noPods))
      .refersTo(Secret, referencedSecrets)
      .reconcile(reconciler(reconciliation, ports))
  );
}

/** The queue asks for another number of daemons. */
function numberMoved({ object, previous }: Change<CoderProvisioner>): boolean {
  return object.status?.desiredReplicas !== previous?.status?.desiredReplicas;
}

const reconciliation = {
  kind: CoderProvisioner,
  finalizer: "coder.com/provisioner-key-cleanup",
  pausedBy: PAUSE_ANNOTATION,
  needsCleanup: () => true,
  observe,
  converge,
  cleanup: releaseKeys,
};

async function converge(snapshot: Snapshot, environment: Environment): Promise<Action> {
  const { context } = environment;
  const { identity, controlPlaneName: name } = snapshot.provisioner;
  const access = accessConditions(snapshot);
  const steps = new Steps<ProvisionerStatus>(explain);
  const controlPlane = await steps.run(conditionTypes.controlPlane, async () =>
    findControlPlane({ namespace: identity.namespace, name }, context),
  );
  const session = await steps.run(access.used, () => openAccess(controlPlane, snapshot, environment));
  await steps.run(access.unused, () => forgetUnused(access.unused, snapshot));
  const entitled = await steps.run(conditionTypes.entitled, () =>
    checkEntitlement(session, snapshot, environment),
  );
  const outcome = await steps.run(conditionTypes.key, () =>
    ensureKey(session && { session, entitled: entitled ?? false }, snapshot, environment),
  );
  const key = await steps.run(conditionTypes.keySecret, () =>
    ensureKeySecret(outcome, snapshot, environment),
  );
  if (key) await steps.run(conditionTypes.rbac, () => ensureWorkspaceRbac(snapshot, context));
  await steps.run(conditionTypes.disruption, () =>
    ensureDisruptionBudget(snapshot.provisioner, snapshot, context),
  );
  const mayChange = steps.conflicts.length === 0;
  const pods = await steps.run(conditionTypes.deployment, () =>
    ensureDeployment({ key, controlPlane, mayChange }, snapshot, context),
  );
  await steps.run(conditionTypes.available, async () =>
    availability(pods, snapshot.provisioner, snapshot.object),
  );
  await steps.run(conditionTypes.stalled, async () => stalling(pods, snapshot.object));
  await steps.run(conditionTypes.conflict, async () =>
    reportConflicts(steps.conflicts, snapshot, conflictAdvice),
  );
  await steps.run(conditionTypes.ready, async () => ({ condition: readiness(steps.conditions) }));
  const object = outcome?.state.object ?? snapshot.object;
  return finish(
    steps,
    { kind: CoderProvisioner, object, now: snapshot.now, quiet: quietReasons },
    environment,
  );
}
