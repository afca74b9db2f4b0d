import {
  Deployment,
  keyOf,
  type Owner,
  type Pod,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { commonLabels } from "../names.ts";
import type { Grants } from "../permissions/ensure-workspace-rbac.ts";
import { foreignGrants } from "../permissions/grant-tie.ts";
import { podsOf } from "../pods/our-pods.ts";
import { controlPlaneGrants, controlPlaneTie } from "./resources/workspace-rbac.ts";
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
  readonly grants: Grants;
}

export function observe(
  object: Stored<CoderControlPlane>,
  { caches, children, clock }: RunContext,
): Snapshot {
  const controlPlane = withDefaults(object);
  const { childName, identity } = controlPlane;
  const owner = { kind: CoderControlPlane, object, labels: commonLabels(controlPlane) };
  const deployment = caches.of(Deployment).get(keyOf({ namespace: identity.namespace, name: childName }));
  return {
    now: clock.now(),
    object,
    controlPlane,
    owner,
    deployment: deployment && children.owns(deployment, owner) ? deployment : undefined,
    pods: podsOf(controlPlane, caches),
    grants: {
      ...{ object, owner, identity },
      tie: controlPlaneTie,
      wanted: controlPlaneGrants(controlPlane),
      foreign: foreignGrants(controlPlaneTie, object, caches),
    },
  };
}
