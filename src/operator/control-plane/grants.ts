import type { KubeObject, Stored } from "kube-controller-runtime";
import type { Identity } from "../names.ts";
import { workspaceGrantLabels } from "./resources/workspace-rbac.ts";

/** The index of Roles and RoleBindings, and of control planes, by the labels that tie the ones to the others. */
export const GRANT_INDEX = "workspaceGrant";

/**
 * What ties a grant in another namespace to its control plane, which no owner reference can. A long name is
 * shortened in the label, so the tie is looked up and never read as a name.
 */
export function grantOwner(identity: Pick<Identity, "name" | "namespace">): string {
  return Object.values(workspaceGrantLabels(identity)).join("/");
}

/** The tie that a Role or RoleBinding carries, for its index. */
export function grantOwnerOfLabels(object: Stored<KubeObject>): string[] {
  const names = Object.keys(workspaceGrantLabels({ name: "", namespace: "" }));
  const values = names.map((name) => object.metadata.labels?.[name]);
  return values.every(Boolean) ? [values.join("/")] : [];
}

/** The tie under which a control plane's grants are found, for its index. */
export function grantOwnerOfControlPlane({ metadata }: Stored<KubeObject>): string[] {
  return metadata.namespace ? [grantOwner({ name: metadata.name, namespace: metadata.namespace })] : [];
}
