import { allOf, applied, Role, RoleBinding, type RunContext, ServiceAccount } from "kube-controller-runtime";
import type { Snapshot } from "../observe.ts";
import { provisionerRole, provisionerRoleBinding } from "../resources/rbac.ts";
import { provisionerServiceAccount } from "../resources/service-account.ts";
import type { Result } from "./result.ts";

/** Keeps the ServiceAccount of the daemons and lets it build workspaces. */
export async function ensureWorkspaceRbac(
  { provisioner, owner }: Snapshot,
  { children }: RunContext,
): Promise<Result> {
  const permissions = async () => {
    // Kubernetes refuses a binding to a Role that it does not know.
    await children.converge(Role, [provisionerRole(provisioner)], owner);
    await children.converge(RoleBinding, [provisionerRoleBinding(provisioner)], owner);
  };
  const account = children.converge(ServiceAccount, [provisionerServiceAccount(provisioner)], owner);
  await allOf<unknown>([account, permissions()]);
  return applied(`ServiceAccount "${provisioner.serviceAccountName}" may build workspaces in its namespace`);
}
