import {
  type Caches,
  type Change,
  type Kind,
  type KubeObject,
  keyOfObject,
  type ObjectKey,
  Role,
  RoleBinding,
  type Stored,
} from "kube-controller-runtime";
import { type Identity, labelValue } from "../../names.ts";

type Named = Pick<Identity, "name" | "namespace">;

/**
 * Labels that connect permissions in another namespace with their object, because owner references cannot.
 * Labels contain shortened names, so the values are only looked up in an index and never parsed.
 */
export interface GrantTie {
  /** Name of the index of Roles and RoleBindings, and of the objects. */
  readonly index: string;
  readonly labelsOf: (identity: Named) => Record<string, string>;
  readonly ofOwner: (object: Stored<KubeObject>) => string[];
  readonly ofGrant: (object: Stored<KubeObject>) => string[];
}

/** Uses the labels `coder.com/<kind>` and `coder.com/<kind>-namespace`. */
export function grantTie(kind: "control-plane" | "provisioner"): GrantTie {
  const [name, namespace] = [`coder.com/${kind}`, `coder.com/${kind}-namespace`];
  return {
    index: `workspaceGrant of ${kind}`,
    labelsOf: (identity) => ({ [name]: labelValue(identity.name), [namespace]: identity.namespace }),
    ofOwner: ({ metadata }) =>
      metadata.namespace ? [`${labelValue(metadata.name)}/${metadata.namespace}`] : [],
    ofGrant: ({ metadata: { labels = {} } }) =>
      labels[name] && labels[namespace] ? [`${labels[name]}/${labels[namespace]}`] : [],
  };
}

/** Existing permissions in other namespaces. */
export interface ForeignGrants {
  readonly roles: readonly Stored<Role>[];
  readonly roleBindings: readonly Stored<RoleBinding>[];
}

export function foreignGrants(tie: GrantTie, owner: Stored<KubeObject>, caches: Caches): ForeignGrants {
  const [key = ""] = tie.ofOwner(owner);
  const isForeign = ({ metadata }: Stored<Role>) => metadata.namespace !== owner.metadata.namespace;
  return {
    roles: caches.of(Role).byIndex(tie.index, key).filter(isForeign),
    roleBindings: caches.of(RoleBinding).byIndex(tie.index, key).filter(isForeign),
  };
}

/**
 * For `watches`: permissions are only written by a reconcile of their object, which needs no other reconcile.
 */
export function changedByOthers({ ownWrite }: Change<KubeObject>): boolean {
  return !ownWrite;
}

/** For `watches`: the objects of a kind that a Role or RoleBinding in another namespace belongs to. */
export function behindGrant<T extends KubeObject>(kind: Kind<T>, tie: GrantTie) {
  return (grant: Stored<KubeObject>, caches: Caches): ObjectKey[] =>
    tie.ofGrant(grant).flatMap((owner) => caches.of(kind).byIndex(tie.index, owner).map(keyOfObject));
}
