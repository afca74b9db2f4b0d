import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import type { Owner } from "../../runtime/controller/children.ts";
import type { RunContext } from "../../runtime/controller/controller.ts";
import { Role, RoleBinding } from "../../runtime/kinds.ts";
import type { Stored } from "../../runtime/object.ts";
import { GRANT_INDEX, grantOwner } from "./grants.ts";
import { type ControlPlane, withDefaults } from "./spec.ts";

/** A control plane as one run sees it: read once from the caches, the time included. */
export interface Snapshot {
  readonly now: number;
  readonly object: Stored<CoderControlPlane>;
  readonly controlPlane: ControlPlane;
  readonly owner: Owner;
  /** The workspace permissions that exist in other namespaces, wanted or not. */
  readonly foreignGrants: {
    readonly roles: readonly Stored<Role>[];
    readonly roleBindings: readonly Stored<RoleBinding>[];
  };
}

export function observe(object: Stored<CoderControlPlane>, { caches, clock }: RunContext): Snapshot {
  const controlPlane = withDefaults(object);
  const owner = grantOwner(controlPlane.identity);
  const isForeign = ({ metadata }: Stored<Role>) => metadata.namespace !== controlPlane.identity.namespace;
  return {
    now: clock.now(),
    object,
    controlPlane,
    owner: { kind: CoderControlPlane, object },
    foreignGrants: {
      roles: caches.of(Role).byIndex(GRANT_INDEX, owner).filter(isForeign),
      roleBindings: caches.of(RoleBinding).byIndex(GRANT_INDEX, owner).filter(isForeign),
    },
  };
}
