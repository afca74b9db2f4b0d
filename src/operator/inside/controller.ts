import {
  accept,
  anyChange,
  type Caches,
  type Change,
  ConfigMap,
  type Controller,
  contentChanged,
  controller,
  explain,
  keyOfObject,
  Namespace,
  type ObjectKey,
  type Reconcile,
  reconciler,
  Secret,
  Service,
  Steps,
  type Stored,
} from "kube-controller-runtime";
import type { EntityStatus } from "../../api/v1alpha1/inside.ts";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
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
import { REQUEST_ANNOTATION } from "../names.ts";
import { awaitsAcceptance, PAUSE_ANNOTATION } from "../pause.ts";
import { namespaceTerminatingSince, namespaceWatch, objectsInNamespace } from "../terminating-namespace.ts";
import { openAccess } from "./access.ts";
import type { Entity, EntityKind } from "./kind.ts";
import { deletesEntity, type EntityObject } from "./object.ts";
import {
  describedEntities,
  ENTITY_INDEX,
  type Environment,
  newMemory,
  observer,
  references,
  type Snapshot,
} from "./observe.ts";
import { release } from "./release.ts";
import { conditionTypes, outcome, quietReasons } from "./status.ts";
import { syncEntity } from "./sync.ts";

/** Keeps the entities of one kind at coderd as their objects describe them. */
export function entityController<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  ports: CoderPorts,
): Controller {
  const { kind, noun, names } = entityKind;
  const describes = describedEntities(entityKind);
  const indexes = { [CONTROL_PLANE_INDEX]: namedControlPlane, [ENTITY_INDEX]: describes };
  const sharing = (object: Stored<T>, caches: Caches): ObjectKey[] =>
    describes(object).flatMap((entity) => caches.of(kind).byIndex(ENTITY_INDEX, entity).map(keyOfObject));
  const defined = controller(noun)
    .for(kind, { when: anyChange, indexes })
    .watches(kind, sharing, { when: claimChanged })
    .watches(Secret, () => [], { ...managedByUs, when: contentChanged })
    .watches(Service, objectsBehindService(kind), { ...managedByUs, when: addressAssigned })
    .watches(CoderControlPlane, objectsNaming(kind), { when: controlPlaneReported })
    .watches(Namespace, objectsInNamespace(kind), namespaceWatch)
    .accepts(awaitsAcceptance, accept<T>(kind, {}))
    .refersTo(Secret, references.secrets)
    .refersTo(ConfigMap, references.configMaps);
  for (const named of names) defined.watches(named, thoseMissing(kind), { when: entityRecorded });
  return defined.reconcile(reconcile(entityKind, ports));
}

function reconcile<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  ports: CoderPorts,
): Reconcile {
  return reconciler(
    {
      kind: entityKind.kind,
      finalizer: "coder.com/entity-cleanup",
      pausedBy: PAUSE_ANNOTATION,
      requestedBy: REQUEST_ANNOTATION,
      newMemory,
      needsCleanup: deletesEntity,
      observe: observer(entityKind),
      converge: (snapshot: Snapshot<T>, environment: Environment<T>) =>
        converge(entityKind, snapshot, environment),
      terminatingSince: namespaceTerminatingSince,
      quiet: quietReasons,
      cleanup: (snapshot: Snapshot<T>, environment: Environment<T>) =>
        release(entityKind, snapshot, environment),
    },
    ports,
  );
}

async function converge<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  snapshot: Snapshot<T>,
  environment: Environment<T>,
): Promise<Steps<EntityStatus>> {
  const { controlPlaneName: name, identity } = snapshot;
  const steps = new Steps<EntityStatus>(explain);
  const controlPlane = await steps.run(conditionTypes.controlPlane, async () =>
    findControlPlane({ namespace: identity.namespace, name }, snapshot.controlPlane, environment.ports),
  );
  const access = await steps.run(conditionTypes.operatorAccess, async () =>
    openAccess(controlPlane, snapshot),
  );
  await steps.run(conditionTypes.synced, () => syncEntity(entityKind, { snapshot, environment }, access));
  const { conflict, reconciling, stalled, ready } = outcome(steps.conditions);
  await steps.run(conditionTypes.conflict, async () => conflict);
  await steps.run(conditionTypes.reconciling, async () => reconciling);
  await steps.run(conditionTypes.stalled, async () => stalled);
  await steps.run(conditionTypes.ready, async () => ready);
  return steps;
}

/** An object with a claim to an entity has come, has gone, or has got hold of it. */
function claimChanged({ type, object, previous }: Change<EntityObject>): boolean {
  return (
    type !== "updated" ||
    object.metadata.generation !== previous?.metadata.generation ||
    object.status?.id !== previous?.status?.id
  );
}

/** coderd has an entity that it did not have before, or under another name. */
function entityRecorded({ object, previous }: Change<EntityObject>): boolean {
  const wasFound = (each: EntityObject | undefined) =>
    each?.status?.conditions?.some(({ type, status }) => type === conditionTypes.ready && status === "True");
  return object.status?.id !== previous?.status?.id || wasFound(object) !== wasFound(previous);
}

/** For `watches`: the objects of the same control plane that name something which coderd lacks. */
function thoseMissing<T extends EntityObject>(kind: EntityKind<T, Entity>["kind"]) {
  return (named: Stored<EntityObject>, caches: Caches): ObjectKey[] => {
    const waiting = namedControlPlane(named).flatMap((controlPlane) =>
      caches.of(kind).byIndex(CONTROL_PLANE_INDEX, controlPlane),
    );
    return waiting.filter(isMissingNames).map(keyOfObject);
  };
}

function isMissingNames({ status }: Stored<EntityObject>): boolean {
  const synced = status?.conditions?.find(({ type }) => type === conditionTypes.synced);
  return synced?.status === "False" && synced.reason.endsWith("Missing");
}
