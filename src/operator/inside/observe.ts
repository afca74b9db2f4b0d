import {
  type Backoff,
  type Caches,
  type KubeObject,
  keyOf,
  type RunContext,
  type Environment as RunEnvironment,
  type StartMemory,
  type Stored,
} from "kube-controller-runtime";
import type { EntityStatus } from "../../api/v1alpha1/inside.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { coderdBackoff } from "../coderd/backoff.ts";
import { type ObservedControlPlane, observeControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { sessionSources } from "../coderd/session.ts";
import { type Identity, identityOf } from "../names.ts";
import { gatherSources, referencesTo, type SourceNames, type Sources } from "../sources.ts";
import { namespaceTerminatingSince } from "../terminating-namespace.ts";
import type { ComparisonMemory } from "./due.ts";
import type { Entity, EntityKind } from "./kind.ts";
import { controlPlaneNameOf, type EntityObject, entityNameOf, observesOnly, recordedIn } from "./object.ts";
import type { Rival } from "./plan.ts";

/** An object as one run sees it: all that is read of the cluster, the time included. */
export interface Snapshot<T extends EntityObject> {
  readonly now: number;
  readonly object: Stored<T>;
  readonly identity: Identity;
  readonly controlPlaneName: string | undefined;
  /** The control plane that the spec names, if it exists. */
  readonly controlPlane: ObservedControlPlane | undefined;
  /** Whether the control plane is being deleted, or the namespace with all that is in it. */
  readonly isControlPlaneEnding: boolean;
  /** Whether the spec wants no more than to know how the entity differs. */
  readonly observes: boolean;
  /** Older objects that describe an entity of the same name or id. */
  readonly rivals: readonly Rival[];
  readonly sources: Sources;
}

/** State of one object between runs. Losing it costs requests, never correctness. */
export interface Memory extends StartMemory, ComparisonMemory {
  readonly backoff: Backoff<CoderFailure>;
  /** The same for each setting beside the entity. */
  readonly settings: Map<string, Backoff<CoderFailure>>;
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return { backoff: coderdBackoff(random), settings: new Map() };
}

export type Environment<T extends EntityObject> = RunEnvironment<T, EntityStatus, Memory, CoderPorts>;

/** For `observe` of a controller: what a run sees of an object of this kind. */
export function observer<T extends EntityObject, E extends Entity>(entityKind: EntityKind<T, E>) {
  return async (object: Stored<T>, context: RunContext): Promise<Snapshot<T>> => {
    const { caches, clock } = context;
    const identity = identityOf(object);
    const { namespace } = identity;
    const controlPlaneName = controlPlaneNameOf(object);
    const controlPlane = observeControlPlane({ namespace, name: controlPlaneName }, caches);
    const isNamespaceTerminating = namespaceTerminatingSince(object, caches) !== undefined;
    return {
      now: clock.now(),
      object,
      identity,
      controlPlaneName,
      controlPlane,
      isControlPlaneEnding: isNamespaceTerminating || controlPlane?.isTerminating === true,
      observes: observesOnly(object),
      rivals: rivalsOf(object, entityKind, caches),
      sources: await gatherSources(namespace, sourceNames(controlPlane), context),
    };
  };
}

type Located<T extends EntityObject> = Pick<EntityKind<T, Entity>, "kind" | "organizationOf">;

/** The index of objects by the entities that they describe. */
export const ENTITY_INDEX = "entity";

/** For the index: the id on record, and the name. An object that only observes claims nothing. */
export function describedEntities<T extends EntityObject>({ organizationOf }: Located<T>) {
  return (object: Stored<T>): string[] => {
    if (observesOnly(object)) return [];
    const { id, annotated } = recordedIn(object);
    const where = [object.metadata.namespace, controlPlaneNameOf(object)];
    const organization = organizationOf?.(object).toLowerCase() ?? "";
    const name = JSON.stringify([...where, organization, entityNameOf(object).toLowerCase()]);
    const recorded = id ?? annotated;
    return recorded === undefined ? [name] : [name, JSON.stringify([...where, recorded])];
  };
}

function rivalsOf<T extends EntityObject>(
  object: Stored<T>,
  entityKind: Located<T>,
  caches: Caches,
): Rival[] {
  const entities = describedEntities(entityKind)(object);
  const sharing = entities.flatMap((entity) => caches.of(entityKind.kind).byIndex(ENTITY_INDEX, entity));
  const older = sharing.filter((other) => isOlder(other, object));
  return older.map((other) => {
    const { id, annotated } = recordedIn(other);
    return { name: other.metadata.name, id: id ?? annotated };
  });
}

/** Of objects that were created within one second, the first by name counts as the oldest. */
function isOlder(one: Stored<KubeObject>, other: Stored<KubeObject>): boolean {
  if (one.metadata.uid === other.metadata.uid) return false;
  const [first = "", second = ""] = [one, other].map(({ metadata }) =>
    keyOf({ namespace: `${metadata.creationTimestamp}`, name: metadata.name }),
  );
  return first < second;
}

function sourceNames(controlPlane: ObservedControlPlane | undefined): SourceNames {
  return controlPlane ? sessionSources(controlPlane) : { secrets: [] };
}

/** For `refersTo`: the Secrets and ConfigMaps with which coderd is reached. */
export const references = referencesTo((object: Stored<EntityObject>, caches) => {
  const { namespace } = identityOf(object);
  return sourceNames(observeControlPlane({ namespace, name: controlPlaneNameOf(object) }, caches));
});
