import type { Stored } from "kube-controller-runtime";
import { insideDefaults } from "../../../api/v1alpha1/defaults.ts";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../../api/v1alpha1/kinds.ts";
import { controlPlaneNameOf, type EntityObject, entityNameOf } from "../../../operator/inside/object.ts";
import type { Found } from "../../objects.ts";
import type { Problem } from "../../problems.ts";
import type { Snapshot } from "./snapshot.ts";

type Mapping = Readonly<Record<string, readonly string[]>>;

/** The fields of all specs that name entities. */
interface Naming {
  readonly organizationName?: string;
  readonly organizationSync?: { readonly mapping?: Mapping };
  readonly idpSync?: { readonly groups?: { readonly mapping?: Mapping } };
}

/** The objects of the entities that a problem reports as missing in coderd. */
export function missingEntities(
  { reason }: Pick<Problem, "reason">,
  { kind, object }: Found,
  { organizations, groups }: Pick<Snapshot, "organizations" | "groups">,
): Found[] {
  const isControlPlane = kind.kind === CoderControlPlane.kind;
  const spec = (object.spec ?? {}) as Naming;
  const controlPlane = isControlPlane
    ? object.metadata.name
    : controlPlaneNameOf(object as Stored<EntityObject>);
  const isNamed = (entity: Stored<EntityObject>, names: readonly string[]) =>
    controlPlaneNameOf(entity) === controlPlane && names.some((name) => isSame(name, entityNameOf(entity)));
  if (reason === "OrganizationMissing") {
    const names = isControlPlane ? namesIn(spec.organizationSync?.mapping) : [organizationOf(spec)];
    const missing = organizations.filter((entity) => isNamed(entity, names));
    return missing.map((entity) => ({ kind: CoderOrganization, object: entity }));
  }
  if (reason !== "GroupsMissing") return [];
  const organization = entityNameOf(object as Stored<EntityObject>);
  const missing = groups
    .filter((entity) => isNamed(entity, namesIn(spec.idpSync?.groups?.mapping)))
    .filter((entity) => isSame(organizationOf(entity.spec ?? {}), organization));
  return missing.map((entity) => ({ kind: CoderGroup, object: entity }));
}

function namesIn(mapping: Mapping = {}): readonly string[] {
  return Object.values(mapping).flat();
}

function organizationOf({ organizationName = insideDefaults.organizationName }: Naming): string {
  return organizationName;
}

/** Names in coderd are not case-sensitive. */
function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
