import type { Kind, Stored } from "kube-controller-runtime";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { OrganizationEntity } from "../../coder/inside/organizations.ts";
import type { Result } from "../../coder/result.ts";
import type { Collection, Inside, Obstacle } from "./coderd.ts";
import type { EntityObject } from "./object.ts";

/** An entity as coderd has it. The other fields are called as in the spec of its kind. */
export interface Entity {
  readonly id: string;
  readonly name: string;
}

/** The desired entity, with IDs instead of names. Absent fields are not managed. */
export type Wanted<E extends Entity> = Partial<Omit<E, "id">> & Pick<E, "name">;

/** Where an entity is: in which organization, unless it is one itself. */
export interface Place {
  readonly organization?: Pick<OrganizationEntity, "id" | "name">;
}

/** The spec, translated to coderd's terms. */
export interface Resolved<E extends Entity> {
  readonly wanted: Wanted<E>;
  /** Why a part of the spec can't be carried out; the rest is. */
  readonly partly?: Obstacle;
}

/** A setting beside an entity, which coderd keeps and changes by requests of its own. */
export interface Setting {
  /** How the spec calls it. */
  readonly field: string;
  /** coderd's name of the feature without which the setting has no effect. */
  readonly feature: string;
  readonly compare: (maxAgeMs?: number) => Promise<Result<Comparison, Obstacle>>;
}

/** Result of comparing a setting with the spec. */
export interface Comparison {
  /** Makes it as the spec says; absent where it is. */
  readonly change?: Change;
  /** Why a part of it can't be carried out. */
  readonly partly?: Obstacle;
}

export type Change = () => Promise<Result<unknown, CoderFailure>>;

/**
 * A kind of entity: a table of its fields and three requests. The engine lists, compares, adopts, creates, corrects,
 * renames and deletes by it.
 */
export interface EntityKind<T extends EntityObject, E extends Entity> {
  readonly kind: Kind<T>;
  /** How messages call an entity. */
  readonly noun: string;
  /** coderd's name of the feature that the license has to include. */
  readonly feature: string;
  /** The kinds whose entities a spec of this kind names, beside users and roles. */
  readonly names: readonly Kind<EntityObject>[];
  /** The fields that are compared, called as in the spec. */
  readonly fields: readonly (keyof Wanted<E> & string)[];
  /** The name of the organization that an object is in; absent for organizations themselves. */
  readonly organizationOf?: (object: Stored<T>) => string;
  /** Finds out where the entity of an object is. */
  readonly locate: (object: Stored<T>, inside: Inside) => Promise<Result<Place, Obstacle>>;
  readonly resolve: (
    object: Stored<T>,
    place: Place,
    inside: Inside,
  ) => Promise<Result<Resolved<E>, Obstacle>>;
  readonly collection: (place: Place) => Collection<readonly E[]>;
  readonly create: (client: CoderClient, place: Place, wanted: Wanted<E>) => Promise<Result<E, CoderFailure>>;
  /** Sets the `fields` of an entity to what is wanted. */
  readonly correct: (
    client: CoderClient,
    entity: E,
    change: { readonly wanted: Wanted<E>; readonly fields: readonly string[] },
  ) => Promise<Result<E, CoderFailure>>;
  readonly remove: (client: CoderClient, id: string) => Promise<Result<void, CoderFailure>>;
  /** Settings beside the fields, in the order in which they are carried out. */
  readonly settings?: (object: Stored<T>, id: string, inside: Inside) => readonly Setting[];
}
