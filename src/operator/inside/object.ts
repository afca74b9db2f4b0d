import type { Kind, KubeObject, Stored } from "kube-controller-runtime";
import { insideDefaults } from "../../api/v1alpha1/defaults.ts";
import type { EntitySpec, EntityStatus } from "../../api/v1alpha1/inside.ts";
import { CoderGroup, CoderOrganization } from "../../api/v1alpha1/kinds.ts";
import { trimmed } from "../normalize.ts";

/** An object of ours that describes an entity: a row of coderd's database. */
export interface EntityObject extends KubeObject {
  spec?: EntitySpec;
  status?: EntityStatus;
}

/** The kinds that describe entities. */
export const ENTITY_OBJECTS: readonly Kind<EntityObject>[] = [CoderOrganization, CoderGroup];

/** The name of the entity that an object describes. */
export function entityNameOf({ metadata, spec }: Stored<EntityObject>): string {
  return trimmed(spec?.name) ?? metadata.name;
}

export function controlPlaneNameOf({ spec }: Stored<EntityObject>): string | undefined {
  return trimmed(spec?.controlPlaneRef?.name);
}

/** Whether the spec wants no more than to know how the entity differs. */
export function observesOnly({ spec }: Stored<EntityObject>): boolean {
  return (spec?.managementPolicy ?? insideDefaults.managementPolicy) === "Observe";
}

/** Whether the entity goes with the object. */
export function deletesEntity(object: Stored<EntityObject>): boolean {
  const policy = object.spec?.deletionPolicy ?? insideDefaults.deletionPolicy;
  return policy === "Delete" && !observesOnly(object);
}

/** Keeps the id of an entity where a backup of the object has it, too. */
export const ENTITY_ID_ANNOTATION = "coder.com/entity-id";

/** References to the entity that the object stores. */
export interface Recorded {
  /** From the status. */
  readonly id?: string | undefined;
  /** From the annotation. */
  readonly annotated?: string | undefined;
  /** The name of an entity that was about to be created. */
  readonly creating?: string | undefined;
}

export function recordedIn({ metadata, status }: Stored<EntityObject>): Recorded {
  const annotated = metadata.annotations?.[ENTITY_ID_ANNOTATION];
  return { id: status?.id, annotated, creating: status?.creating };
}
