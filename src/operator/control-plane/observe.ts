import {
  Deployment,
  keyOf,
  type Owner,
  type Pod,
  Role,
  RoleBinding,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { commonLabels } from "../names.ts";
import { podsOf } from "../pods/our-pods.ts";
import { GRANT_INDEX, grantOwner } from "./grants.ts";
import { type ControlPlane, withDefaults } from "./spec.ts";

/** A control plane as one run sees it: read once from the caches, the time included. */
export interface Snapshot {
  readonly now: number;
  readonly object: Stored<CoderControlPlane>;
  readonly controlPlane: ControlPlane;
  readonly owner: Owner;
  /** That of this control plane, not one of somebody else that has its name. */
  readonly deployment: Stored<Deployment> | undefined;
  readonly pods: readonly Stored<Pod>[];
  /** The workspace permissions that exist in other namespaces, wanted or not. */
  readonly foreignGrants: {
    readonly roles: readonly Stored<Role>[];
    readonly roleBindings: readonly Stored<RoleBinding>[];
  };
}

export function observe(
  object: Stored<CoderControlPlane>,
  { caches, children, clock }: RunContext,
): Snapshot {
  const controlPlane = withDefaults(object);
  const { childName, identity } = controlPlane;
  const owner = { kind: CoderControlPlane, object, labels: commonLabels(controlPlane) };
  const deployment = caches.of(Deployment).get(keyOf({ namespace: identity.namespace, name: childName }));
  const grants = grantOwner(identity);
  const isForeign = ({ metadata }: Stored<Role>) => metadata.namespace !== identity.namespace;
  return {
    now: clock.now(),
    object,
    controlPlane,
    owner,
    deployment: deployment && children.owns(deployment, owner) ? deployment : undefined,
    pods: podsOf(controlPlane, caches),
    foreignGrants: {
      roles: caches.of(Role).byIndex(GRANT_INDEX, grants).filter(isForeign),
      roleBindings: caches.of(RoleBinding).byIndex(GRANT_INDEX, grants).filter(isForeign),
    },
  };
}
