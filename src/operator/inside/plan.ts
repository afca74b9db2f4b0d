import { isDeepStrictEqual } from "node:util";
import type { Entity, Wanted } from "./kind.ts";
import type { Recorded } from "./object.ts";

/** An older object of the same kind that describes an entity of the same name or id. */
export interface Rival {
  readonly name: string;
  readonly id: string | undefined;
}

/** All that a decision about an entity rests on. */
export interface EntityFacts<E extends Entity> {
  readonly wanted: Wanted<E>;
  readonly fields: readonly string[];
  readonly recorded: Recorded;
  readonly rivals: readonly Rival[];
  readonly adopts: boolean;
  readonly observes: boolean;
  /** All entities of the kind in the same place. */
  readonly entities: readonly E[];
}

/**
 * What has to be done so that coderd has the entity as the spec wants it:
 *
 *     create ──► correct ──► keep
 *     claim ───► correct ──► keep
 *     refuse, report
 */
export type EntityPlan<E extends Entity> =
  | { readonly do: "create" }
  /** Records an entity as that of the object. */
  | { readonly do: "claim"; readonly entity: E; readonly because: "adopted" | "found" }
  | { readonly do: "correct"; readonly entity: E; readonly fields: readonly string[] }
  | { readonly do: "keep"; readonly entity: E }
  /** The entity belongs to another object, or to people. */
  | { readonly do: "refuse"; readonly entity: E | undefined; readonly rival?: Rival }
  /** The spec wants no more than to know how it differs. */
  | { readonly do: "report"; readonly entity: E | undefined; readonly fields: readonly string[] };

/** Decides by what is, not by how it came about, so it is right after a crash at any point, too. */
export function planEntity<E extends Entity>(facts: EntityFacts<E>): EntityPlan<E> {
  const { wanted, fields, recorded, rivals, entities } = facts;
  const own = ownEntity(recorded, entities);
  const named = byName(entities, wanted.name);
  if (facts.observes) return report(own ?? named, facts);
  const rival = own ? rivals.find(({ id }) => id === own.id) : rivals[0];
  if (rival) return { do: "refuse", entity: own ?? named, rival };
  if (named && named.id !== own?.id) {
    const mayAdopt = !own && facts.adopts;
    return mayAdopt ? { do: "claim", entity: named, because: "adopted" } : { do: "refuse", entity: named };
  }
  if (!own) return { do: "create" };
  const isRecorded = recorded.id === own.id && recorded.annotated === own.id && !recorded.creating;
  if (!isRecorded) return { do: "claim", entity: own, because: "found" };
  const differing = differences(own, wanted, fields);
  return differing.length > 0
    ? { do: "correct", entity: own, fields: differing }
    : { do: "keep", entity: own };
}

/**
 * The entity that is the object's: it has the id on record, or the name under which it was about to be created when the
 * operator ended.
 */
export function ownEntity<E extends Entity>(
  { id, annotated, creating }: Recorded,
  entities: readonly E[],
): E | undefined {
  const recorded = entities.find((entity) => entity.id === (id ?? annotated));
  return recorded ?? (creating === undefined ? undefined : entities.find(({ name }) => name === creating));
}

function report<E extends Entity>(entity: E | undefined, { wanted, fields }: EntityFacts<E>): EntityPlan<E> {
  return { do: "report", entity, fields: entity ? differences(entity, wanted, fields) : [] };
}

/** Names that differ by case alone are one name to people, and for most kinds to coderd too. */
function byName<E extends Entity>(entities: readonly E[], wanted: string): E | undefined {
  const exact = entities.find(({ name }) => name === wanted);
  return exact ?? entities.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
}

/** The fields in which an entity is not as the spec wants it. */
function differences<E extends Entity>(entity: E, wanted: Wanted<E>, fields: readonly string[]): string[] {
  const [has, wants] = [entity, wanted] as unknown as Record<string, unknown>[];
  return fields.filter(
    (field) => wants?.[field] !== undefined && !isDeepStrictEqual(wants[field], has?.[field]),
  );
}
