import { type Backoff, fingerprint, type Settled, settle } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import { coderdBackoff } from "../coderd/backoff.ts";
import { type Access, licenseOf, openInside } from "./access.ts";
import { MISSING_RETRY_MS, NOW_MS, type Obstacle, obstacleOf } from "./coderd.ts";
import { compareWhenDue } from "./due.ts";
import { announceChange, type EntityRun, type EntityState, entityEffect } from "./effect.ts";
import type { Entity, EntityKind } from "./kind.ts";
import type { EntityObject } from "./object.ts";
import type { Environment, Snapshot } from "./observe.ts";
import type { EntityPlan } from "./plan.ts";
import { syncSettings } from "./settings.ts";
import { COMPARE_EVERY_MS, type EntityResult, UP_TO_DATE, type Verdict } from "./status.ts";

/** Brings the entity of an object to what the spec wants, or reports how it differs. */
export async function syncEntity<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  { snapshot, environment }: { readonly snapshot: Snapshot<T>; readonly environment: Environment<T> },
  access: Access | undefined,
): Promise<EntityResult> {
  if (!access)
    return { condition: { status: "Unknown", reason: "Pending", message: "Waiting for access to coderd." } };
  const inputs = inputsOf(snapshot, access);
  return compareWhenDue(environment.memory, { inputs, now: snapshot.now }, () => {
    const inside = openInside(access, snapshot, environment.ports);
    return compare(entityKind, { snapshot, environment, inside, inputs });
  });
}

/** Fingerprint of everything that the result of a comparison depends on. */
function inputsOf<T extends EntityObject>(
  { object, rivals }: Snapshot<T>,
  { controlPlane, token }: Access,
): string {
  const { generation } = object.metadata;
  const inputs = [generation, rivals, controlPlane.url, token, licenseOf(controlPlane)];
  return fingerprint([JSON.stringify(inputs)]);
}

type Comparison<T extends EntityObject> = Pick<EntityRun<T, never>, "snapshot" | "environment" | "inside"> & {
  readonly inputs: string;
  /** Whether coderd has refused the correction that followed from shared answers. */
  readonly isSecond?: boolean;
};

async function compare<T extends EntityObject, E extends Entity>(
  entityKind: EntityKind<T, E>,
  comparison: Comparison<T>,
): Promise<Verdict> {
  const { snapshot, environment, inside, inputs } = comparison;
  const entitled = await inside.requires(entityKind.feature);
  if (!entitled.ok) return blockedBy(entitled.failure);
  const located = await entityKind.locate(snapshot.object, inside);
  if (!located.ok) return blockedBy(located.failure);
  const place = located.value;
  const resolved = await entityKind.resolve(snapshot.object, place, inside);
  if (!resolved.ok) return blockedBy(resolved.failure);
  const { backoff } = environment.memory;
  // Whether the last attempt to create or change it had an effect is not known.
  const isUnclear = snapshot.object.status?.creating !== undefined || backoff.hasFailed;
  const maxAgeMs = isUnclear ? NOW_MS : undefined;
  const listed = await inside.read(entityKind.collection(place), maxAgeMs);
  if (!listed.ok) return blockedBy(listed.failure);
  const run = { entityKind, snapshot, environment, inside, place, resolved: resolved.value };
  const start = { object: snapshot.object, entities: listed.value, corrected: [], isFresh: false };
  const settled = await settle(entityEffect(run), start, { inputs, now: snapshot.now, backoff });
  // An earlier attempt that failed had its effect after all, or its change is not wanted any more.
  if (settled.end === "settled") backoff.end();
  if (comparison.isSecond || !isRefusedCorrection(settled)) return judge(settled, run, inputs);
  backoff.end();
  const { object } = settled.state;
  const again = { snapshot: { ...snapshot, object }, inside: inside.afterContradiction(), isSecond: true };
  return compare(entityKind, { ...comparison, ...again });
}

/** coderd may have changed since it was asked: someone has added a member, or one has left the organization. */
function isRefusedCorrection<T extends EntityObject, E extends Entity>(outcome: Outcome<T, E>): boolean {
  if (outcome.end !== "failed" || !outcome.isNew) return false;
  return outcome.plan.do === "correct" && outcome.failure.kind === "invalid";
}

function blockedBy({ reason, message, retryInMs }: Obstacle): Verdict {
  return { condition: { status: "False", reason, message }, dueInMs: retryInMs };
}

type Outcome<T extends EntityObject, E extends Entity> = Settled<
  EntityState<T, E>,
  EntityPlan<E>,
  CoderFailure
>;

async function judge<T extends EntityObject, E extends Entity>(
  outcome: Outcome<T, E>,
  run: EntityRun<T, E>,
  inputs: string,
): Promise<Verdict> {
  if (outcome.end === "failed") return blockedBy(obstacleOf(outcome.failure, outcome.retryInMs));
  if (outcome.end !== "settled")
    return blockedBy({
      reason: "Pending",
      message: "The spec has changed in the meantime; the operator starts over.",
      retryInMs: 0,
    });
  const { plan } = outcome;
  if (plan.do === "refuse") return refused(plan, run);
  if (plan.do !== "keep" && plan.do !== "report")
    throw new TypeError(`an entity does not end with ${plan.do}`);
  if (!plan.entity) return missing(run);
  return withSettings(plan.entity, plan.do === "report" ? plan.fields : [], { run, inputs });
}

function refused<T extends EntityObject, E extends Entity>(
  { entity, rival }: Extract<EntityPlan<E>, { do: "refuse" }>,
  { entityKind: { noun }, resolved, snapshot }: EntityRun<T, E>,
): Verdict {
  const { name } = resolved.wanted;
  const { kind } = snapshot.object;
  if (rival) {
    const message = `${kind} "${rival.name}" is older and describes the ${noun} "${name}" too; delete one of the two objects.`;
    return blockedBy({ reason: "ClaimedByOlder", message, retryInMs: COMPARE_EVERY_MS });
  }
  const found = entity ? `"${entity.name}" (id ${entity.id})` : `"${name}"`;
  const message = `The ${noun} ${found} exists already and this object did not create it; set spec.adopt to take it over, or choose another spec.name.`;
  return blockedBy({ reason: "ExistsAlready", message, retryInMs: MISSING_RETRY_MS });
}

function missing<T extends EntityObject, E extends Entity>({
  entityKind,
  resolved,
}: EntityRun<T, E>): Verdict {
  const message = `coderd has no ${entityKind.noun} "${resolved.wanted.name}", and spec.managementPolicy is Observe; create it, or set Manage.`;
  return blockedBy({ reason: "EntityMissing", message, retryInMs: MISSING_RETRY_MS });
}

/** Brings the settings beside the fields to what the spec wants, and says what all of it comes to. */
async function withSettings<T extends EntityObject, E extends Entity>(
  entity: E,
  fields: readonly string[],
  { run, inputs }: { readonly run: EntityRun<T, E>; readonly inputs: string },
): Promise<Verdict> {
  const { entityKind, environment, inside, resolved, snapshot } = run;
  const settings = entityKind.settings?.(snapshot.object, entity.id, inside) ?? [];
  const { drifted, failed, partly } = await syncSettings(settings, {
    inside,
    attempt: { inputs, now: snapshot.now },
    backoffOf: (field) => settingBackoff(field, environment),
    observes: snapshot.observes,
    changed: (field) => announceChange([field], run),
  });
  if (failed) return blockedBy(failed);
  const differing = [...fields, ...drifted];
  if (differing.length > 0) return driftedIn(differing, run);
  const gap = partly ?? resolved.partly;
  return gap ? blockedBy(gap) : upToDate(entity, run);
}

function settingBackoff<T extends EntityObject>(
  field: string,
  { memory, ports }: Environment<T>,
): Backoff<CoderFailure> {
  const backoff = memory.settings.get(field) ?? coderdBackoff<CoderFailure>(ports.random);
  memory.settings.set(field, backoff);
  return backoff;
}

function driftedIn<T extends EntityObject, E extends Entity>(
  fields: readonly string[],
  { entityKind: { noun }, resolved }: EntityRun<T, E>,
): Verdict {
  const message = `The ${noun} "${resolved.wanted.name}" differs from the spec in ${fields.join(", ")}, and spec.managementPolicy is Observe; set Manage to have it corrected.`;
  return blockedBy({ reason: "Drifted", message, retryInMs: COMPARE_EVERY_MS });
}

function upToDate<T extends EntityObject, E extends Entity>(
  { id, name }: E,
  { entityKind: { noun } }: EntityRun<T, E>,
): Verdict {
  const message = `The ${noun} "${name}" (id ${id}) is as the spec says.`;
  return { condition: { status: "True", reason: UP_TO_DATE, message }, dueInMs: COMPARE_EVERY_MS };
}
