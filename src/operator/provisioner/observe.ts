import type { Environment as SharedEnvironment } from "kube-controller-runtime";
import {
  CONTROLLER_INDEX,
  Deployment,
  keyOf,
  type Owner,
  type Pod,
  type RunContext,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { commonLabels } from "../names.ts";
import type { Grants } from "../permissions/ensure-workspace-rbac.ts";
import { foreignGrants } from "../permissions/grant-tie.ts";
import { podsOf } from "../pods/our-pods.ts";
import type { CoderPorts } from "../ports.ts";
import type { Memory } from "./memory.ts";
import { provisionerGrants, provisionerTie } from "./resources/rbac.ts";
import { type Provisioner, withDefaults } from "./spec.ts";

/** A provisioner as one run sees it: read once from the caches, the time included. */
export interface Snapshot {
  readonly now: number;
  readonly object: Stored<CoderProvisioner>;
  readonly provisioner: Provisioner;
  readonly owner: Owner;
  /** The Secrets of this provisioner: the one that the spec names, and any that it named before. */
  readonly secrets: readonly Stored<Secret>[];
  /** That of this provisioner, not one of somebody else that has its name. */
  readonly deployment: Stored<Deployment> | undefined;
  readonly pods: readonly Stored<Pod>[];
  readonly grants: Grants;
}

export type Environment = SharedEnvironment<Memory, CoderPorts>;

export function observe(object: Stored<CoderProvisioner>, { caches, children, clock }: RunContext): Snapshot {
  const provisioner = withDefaults(object);
  const { namespace } = provisioner.identity;
  const owner = { kind: CoderProvisioner, object, labels: commonLabels(provisioner) };
  const secrets = caches.of(Secret);
  const named = secrets.get(keyOf({ namespace, name: provisioner.key.secret.name }));
  const owned = secrets.byIndex(CONTROLLER_INDEX, object.metadata.uid);
  const deployment = caches.of(Deployment).get(keyOf({ namespace, name: provisioner.childName }));
  return {
    now: clock.now(),
    object,
    provisioner,
    owner,
    secrets: [...new Set([...(named && children.owns(named, owner) ? [named] : []), ...owned])],
    deployment: deployment && children.owns(deployment, owner) ? deployment : undefined,
    pods: podsOf(provisioner, caches),
    grants: {
      ...{ object, owner, identity: provisioner.identity },
      tie: provisionerTie,
      wanted: provisionerGrants(provisioner),
      foreign: foreignGrants(provisionerTie, object, caches),
    },
  };
}
