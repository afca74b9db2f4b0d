import type { Role, RoleBinding } from "kube-controller-runtime";
import { childMetadata } from "../../names.ts";
import { role, roleBinding, workspaceRules } from "../../permissions/workspace-role.ts";
import type { Provisioner } from "../spec.ts";

/** Lets the daemons build workspaces in their own namespace. */
export function provisionerRole(provisioner: Provisioner): Role {
  const metadata = childMetadata(provisioner, provisioner.childName);
  return role(metadata, workspaceRules({ deployments: true }));
}

export function provisionerRoleBinding(provisioner: Provisioner): RoleBinding {
  const { childName, identity, serviceAccountName } = provisioner;
  const account = { name: serviceAccountName, namespace: identity.namespace };
  return roleBinding(childMetadata(provisioner, childName), childName, account);
}
