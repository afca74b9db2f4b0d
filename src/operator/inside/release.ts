import { type Action, requeue, setCondition } from "kube-controller-runtime";
import { type CoderFailure, mayResolve } from "../../coder/failure.ts";
import { failed, type Result } from "../../coder/result.ts";
import { withAdvice } from "../coderd/failure.ts";
import { findControlPlane } from "../coderd/find-control-plane.ts";
import { openAccess, openInside } from "./access.ts";
import type { Entity, EntityKind } from "./kind.ts";
import { deletesEntity, type EntityObject, recordedIn } from "./object.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { ownEntity } from "./plan.ts";
import { conditionTypes } from "./status.ts";

/** Maximum time that a deletion waits for an unreachable coderd. */
const MAX_WAIT_MS = 60_000;
const RETRY_MS = 5_000;
/** Delay after a refusal: the objects that block the deletion may be gone by then. */
const REFUSED_RETRY_MS = 10_000;

/**
 * Deletes the entity of an object that is being deleted, where the spec says so. What coderd refuses keeps the object; a
 * coderd that is out of reach does so for a minute. An object that lives and retains its entity has nothing to release.
 */
export async function release<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  snapshot: Snapshot<T>,
  environment: Environment<T>,
): Promise<Action | undefined> {
  const { object, isControlPlaneEnding } = snapshot;
  const { deletionTimestamp } = object.metadata;
  if (!deletionTimestamp || !deletesEntity(object)) return undefined;
  const { id, annotated, creating } = recordedIn(object);
  if (!(id ?? annotated ?? creating)) return undefined;
  if (isControlPlaneEnding || !snapshot.controlPlane)
    return leave("Its control plane is gone or is being deleted.", entityKind, snapshot, environment);
  const removed = await remove(entityKind, snapshot, environment);
  if (removed.ok) {
    const message = `Deleted ${entityKind.noun} "${removed.value ?? id}" from coderd.`;
    if (removed.value) environment.own.emit("Normal", "EntityDeleted", message);
    return undefined;
  }
  const { failure } = removed;
  if (failure.kind !== "waiting" && !mayResolve(failure)) return refuse(failure, entityKind, environment);
  const leftMs = Date.parse(`${deletionTimestamp}`) + MAX_WAIT_MS - snapshot.now;
  if (leftMs > 0) return requeue(Math.min(RETRY_MS, leftMs));
  return leave(failure.message, entityKind, snapshot, environment);
}

type Failure = CoderFailure | { readonly kind: "waiting"; readonly message: string };

/** Resolves with the name of the entity that was deleted; with nothing when there was none, or it is an older object's. */
async function remove<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  snapshot: Snapshot<T>,
  environment: Environment<T>,
): Promise<Result<string | undefined, Failure>> {
  const { controlPlane, controlPlaneName: name, identity, object } = snapshot;
  const ref = { namespace: identity.namespace, name };
  const { value: found, condition } = findControlPlane(ref, controlPlane, environment.ports);
  const { value: access, condition: why = condition } = openAccess(found, snapshot);
  if (!access) return failed({ kind: "waiting", message: why?.message ?? "" });
  const inside = openInside(access, snapshot, environment.ports);
  const located = await entityKind.locate(object, inside);
  if (!located.ok) {
    // With its organization the entity has gone, too.
    if (located.failure.reason === "OrganizationMissing") return { ok: true, value: undefined };
    return failed({ kind: "waiting", message: located.failure.message });
  }
  const collection = entityKind.collection(located.value);
  const recorded = recordedIn(object);
  // Only an answer from now shows whether its creation had an effect, and the object is gone afterwards.
  const listed = await inside.read(collection, recorded.creating === undefined ? undefined : 0);
  if (!listed.ok) return failed({ kind: "waiting", message: listed.failure.message });
  const own = ownEntity(recorded, listed.value);
  if (!own || snapshot.rivals.some(({ id }) => id === own.id)) return { ok: true, value: undefined };
  const removed = await entityKind.remove(inside.client, own.id);
  if (!removed.ok && removed.failure.kind !== "notFound") return removed;
  inside.changed(collection, (all) => all.filter(({ id }) => id !== own.id));
  return { ok: true, value: own.name };
}

/** Keeps the object, and says in `Ready` and `Stalled` why it is still there. Nothing moves until a person acts. */
async function refuse<T extends EntityObject, E extends Entity>(
  failure: CoderFailure,
  { noun }: EntityKind<T, E>,
  { clock, own }: Environment<T>,
): Promise<Action> {
  // No value has to be corrected: the message names objects to delete first.
  const why = failure.kind === "invalid" ? failure.message : withAdvice(failure);
  const message = `coderd does not delete the ${noun}. ${why} To keep it in coderd and delete only this object, set spec.deletionPolicy to Retain.`;
  const state = { reason: "DeletionRefused", message, now: clock.now() };
  await own.record(({ conditions = [] }) => {
    const unready = setCondition(conditions, conditionTypes.ready, { ...state, status: "False" });
    const stalled = setCondition(unready, conditionTypes.stalled, { ...state, status: "True" });
    return { conditions: stalled.filter(({ type }) => type !== conditionTypes.reconciling) };
  });
  return requeue(REFUSED_RETRY_MS);
}

/** Nothing keeps an object from being deleted for longer; what stays is said once, and counted. */
function leave<T extends EntityObject, E extends Entity>(
  because: string,
  { noun }: EntityKind<T, E>,
  { object }: Snapshot<T>,
  { log, own, ports }: Environment<T>,
): undefined {
  const { id, annotated, creating } = recordedIn(object);
  const which = id ?? annotated ?? creating;
  log.warn("entity was left behind", { noun, entity: which, because });
  ports.entityOrphaned?.();
  own.emit(
    "Warning",
    "EntityLeftBehind",
    `The ${noun} ${which} stays in coderd; delete it there. ${because}`,
  );
}
