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
 * What ties a grant in another namespace to the object that it is made for, which no owner reference can: two labels.
 * A long name is shortened in its label, so the tie is looked up in an index and never read as a name.
 */
export interface GrantTie {
  /** The name of the index of Roles and RoleBindings, and of our objects, by the tie. */
  readonly index: string;
  readonly labelsOf: (identity: Named) => Record<string, string>;
  readonly ofOwner: (object: Stored<KubeObject>) => string[];
  readonly ofGrant: (object: Stored<KubeObject>) => string[];
}

/** The tie by the label `coder.com/<kind>` and `coder.com/<kind>-namespace`. */
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

/** The permissions that exist in other namespaces, wanted or not. */
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

/** For `watches`: a grant is only ever written for the object behind it, by a run of that object, which needs no other. */
export function changedByOthers({ ownWrite }: Change<KubeObject>): boolean {
  return !ownWrite;
}

/** For `watches`: the objects of a kind behind a Role or RoleBinding of another namespace. */
export function behindGrant<T extends KubeObject>(kind: Kind<T>, tie: GrantTie) {
  return (grant: Stored<KubeObject>, caches: Caches): ObjectKey[] =>
    tie.ofGrant(grant).flatMap((owner) => caches.of(kind).byIndex(tie.index, owner).map(keyOfObject));
}
