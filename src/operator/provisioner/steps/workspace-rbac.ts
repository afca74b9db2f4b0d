import { allOf } from "kube-controller-runtime";
import { ensureServiceAccount } from "../../permissions/ensure-service-account.ts";
import { ensureWorkspaceRbac } from "../../permissions/ensure-workspace-rbac.ts";
import type { Tenancy } from "../../permissions/tenancy.ts";
import type { Environment, Snapshot } from "../observe.ts";
import type { ProvisionerResult } from "./result.ts";

/** Keeps the ServiceAccount of the daemons and lets it build workspaces where the spec and `tenancy` say. */
export async function ensurePermissions(
  snapshot: Snapshot,
  environment: Environment,
  tenancy: Tenancy,
): Promise<ProvisionerResult> {
  const account = ensureServiceAccount(snapshot, environment, snapshot.provisioner);
  const permissions = ensureWorkspaceRbac(snapshot, environment, tenancy);
  await allOf<unknown>([account, permissions]);
  const { condition } = await account;
  return { ...(await permissions), ...(condition?.status === "False" ? { condition } : {}) };
}
