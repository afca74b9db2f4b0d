import { type Effect, findCondition, type Needs, type Progress, type Stored } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { type Inside, OUTDATED_MS } from "./coderd.ts";
import type { Entity, EntityKind, Place, Resolved } from "./kind.ts";
import { ENTITY_ID_ANNOTATION, type EntityObject, recordedIn } from "./object.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { type EntityPlan, planEntity } from "./plan.ts";
import { conditionTypes } from "./status.ts";

/** One go at bringing an entity to what the spec wants. */
export interface EntityRun<T extends EntityObject, E extends Entity> {
  readonly entityKind: EntityKind<T, E>;
  readonly snapshot: Snapshot<T>;
  readonly environment: Environment<T>;
  readonly inside: Inside;
  readonly place: Place;
  readonly resolved: Resolved<E>;
}

/** All that a run knows of the entity. */
export interface EntityState<T extends EntityObject, E extends Entity> {
  readonly object: Stored<T>;
  readonly entities: readonly E[];
  /** The fields that this run has set: coderd's interpretation of them is not corrected again. */
  readonly corrected: readonly string[];
  readonly isFresh: boolean;
}

const needs: Readonly<Record<EntityPlan<Entity>["do"], Needs>> = {
  keep: "nothing",
  refuse: "nothing",
  report: "nothing",
  claim: {},
  correct: { external: true },
  create: { external: true, irreversible: true },
};

/** An entity at coderd, as its object describes it. */
export function entityEffect<T extends EntityObject, E extends Entity>(
  run: EntityRun<T, E>,
): Effect<EntityState<T, E>, EntityPlan<E>, CoderFailure> {
  const { entityKind, resolved, snapshot } = run;
  return {
    plan: ({ object, entities, corrected }) =>
      planEntity<E>({
        wanted: resolved.wanted,
        fields: entityKind.fields.filter((field) => !corrected.includes(field)),
        recorded: recordedIn(object),
        rivals: snapshot.rivals,
        adopts: object.spec?.adopt ?? false,
        observes: snapshot.observes,
        entities,
      }),
    needs: (plan) => needs[plan.do],
    refresh: async (state) => {
      const fresh = await run.environment.own.readUncached([]);
      return fresh ? { next: { ...state, object: fresh.object, isFresh: true } } : { overtaken: true };
    },
    act: (plan, state) => act(plan, state, run),
  };
}

type Step<T extends EntityObject, E extends Entity> = Promise<Progress<EntityState<T, E>, CoderFailure>>;

/** The one place where an entity is changed. Each effect is recorded before anything else happens. */
async function act<T extends EntityObject, E extends Entity>(
  plan: EntityPlan<E>,
  state: EntityState<T, E>,
  run: EntityRun<T, E>,
): Step<T, E> {
  switch (plan.do) {
    case "create":
      return create(state, run);
    case "claim":
      return claim(plan, state, run);
    case "correct":
      return correct(plan, state, run);
    case "keep":
    case "refuse":
    case "report":
      return { next: state };
  }
}

/**
 * The name is recorded first: should this process end before the id is recorded, the next one knows whose the entity of
 * that name is.
 */
async function create<T extends EntityObject, E extends Entity>(
  state: EntityState<T, E>,
  run: EntityRun<T, E>,
): Step<T, E> {
  const { entityKind, environment, inside, place, resolved } = run;
  const { own } = environment;
  const { name } = resolved.wanted;
  if (!(await own.record(() => ({ id: undefined, creating: name })))) return { overtaken: true };
  const made = await entityKind.create(inside.client, place, resolved.wanted);
  if (made.ok) {
    const again = state.object.status?.id ? ", which had been deleted in coderd, again" : "";
    own.emit(
      "Normal",
      "EntityCreated",
      `Created ${entityKind.noun} "${name}"${again}; its id is ${made.value.id}.`,
    );
    return record(made.value, state, run);
  }
  // Unless it is unclear what became of the request, the claim to the name is given up with it.
  if (made.failure.kind === "transient") return { failed: made.failure };
  const object = await own.record(() => ({ creating: undefined }));
  if (!object) return { overtaken: true };
  if (made.failure.kind !== "duplicate") return { failed: made.failure };
  // Someone created it after coderd was asked.
  const listed = await inside.read(entityKind.collection(place), OUTDATED_MS);
  const isThere =
    listed.ok && listed.value.some((entity) => entity.name.toLowerCase() === name.toLowerCase());
  return isThere ? { next: { ...state, object, entities: listed.value } } : { failed: made.failure };
}

async function claim<T extends EntityObject, E extends Entity>(
  { entity, because }: Extract<EntityPlan<E>, { do: "claim" }>,
  state: EntityState<T, E>,
  run: EntityRun<T, E>,
): Step<T, E> {
  const { environment, entityKind } = run;
  if (because === "adopted") {
    const message = `Took over ${entityKind.noun} "${entity.name}"; its id is ${entity.id}.`;
    environment.own.emit("Normal", "Adopted", message);
  }
  return record(entity, state, run);
}

async function correct<T extends EntityObject, E extends Entity>(
  { entity, fields }: Extract<EntityPlan<E>, { do: "correct" }>,
  state: EntityState<T, E>,
  run: EntityRun<T, E>,
): Step<T, E> {
  const { entityKind, inside, resolved } = run;
  const { wanted } = resolved;
  const corrected = await entityKind.correct(inside.client, entity, { wanted, fields });
  if (!corrected.ok) return { failed: corrected.failure };
  announceChange(fields, run);
  const entities = share(corrected.value, state, run);
  return { next: { ...state, entities, corrected: [...state.corrected, ...fields] } };
}

/** The entity was changed in coderd only if it was as this spec says. Otherwise, the change is an update. */
export function announceChange<T extends EntityObject, E extends Entity>(
  fields: readonly string[],
  { entityKind, environment, resolved, snapshot }: EntityRun<T, E>,
): void {
  const { object } = snapshot;
  const subject = `${fields.join(", ")} of ${entityKind.noun} "${resolved.wanted.name}"`;
  const synced = findCondition(object.status?.conditions, conditionTypes.synced);
  const wasInSync = synced?.status === "True" && synced.observedGeneration === object.metadata.generation;
  if (!wasInSync) environment.own.emit("Normal", "EntityUpdated", `Set ${subject} to what the spec says.`);
  else
    environment.own.emit(
      "Normal",
      "DriftCorrected",
      `Corrected ${subject}, which had been changed in coderd.`,
    );
}

/** Records the id in the status and in the annotation. */
async function record<T extends EntityObject, E extends Entity>(
  entity: E,
  state: EntityState<T, E>,
  run: EntityRun<T, E>,
): Step<T, E> {
  const { own } = run.environment;
  const entities = share(entity, state, run);
  const { organization } = run.place;
  const place = organization ? { organizationID: organization.id } : {};
  const recorded = await own.record(() => ({ id: entity.id, creating: undefined, ...place }));
  if (!recorded) return { overtaken: true };
  const object = await own.annotate(ENTITY_ID_ANNOTATION, entity.id);
  return object ? { next: { ...state, object, entities } } : { overtaken: true };
}

/** Puts the entity into the list that all objects of the control plane share. */
function share<T extends EntityObject, E extends Entity>(
  entity: E,
  { entities }: EntityState<T, E>,
  { entityKind, inside, place }: EntityRun<T, E>,
): readonly E[] {
  const withEntity = (all: readonly E[]) => [...all.filter(({ id }) => id !== entity.id), entity];
  inside.changed(entityKind.collection(place), withEntity);
  return withEntity(entities);
}
