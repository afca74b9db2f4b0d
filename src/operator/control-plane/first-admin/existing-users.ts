import { findCondition } from "kube-controller-runtime";
import type { FirstAdmin } from "../../coderd/settings.ts";
import { type ControlPlaneResult, conditionTypes } from "../status.ts";
import { coderdClient } from "../token/check.ts";
import type { FirstAdminRun } from "./effect.ts";
import { isSameUser } from "./plan.ts";

const OWNER_ROLE = "owner";
const UNKNOWN = Symbol("unknown");

/**
 * Reports how the user in the spec differs from the user in coderd. Only an owner's token can look up users: without one,
 * or if coderd does not answer, the last report stays.
 */
export async function reportExistingUsers(
  run: FirstAdminRun,
  token: string | undefined,
): Promise<ControlPlaneResult> {
  const { snapshot, environment, firstAdmin } = run;
  const { conditions, firstAdmin: recorded } = snapshot.object.status ?? {};
  const before = findCondition(conditions, conditionTypes.firstAdmin);
  const difference = token === undefined ? UNKNOWN : await differenceTo(firstAdmin, token, run);
  const isSaid = before?.reason === "UsersExist" && isSameUser(recorded, firstAdmin);
  if (difference === UNKNOWN && isSaid) return {};
  const isDifferent = typeof difference === "string";
  const message = isDifferent
    ? `coderd has users, ${difference}, so the operator changed nothing. Correct spec.firstAdmin, or change the user in Coder.`
    : `coderd has users, so the operator did not create user "${firstAdmin.username}".`;
  if (isDifferent && before?.message !== message)
    environment.own.emit("Warning", "FirstAdminDiffers", message);
  return { condition: { status: "True", reason: "UsersExist", message } };
}

async function differenceTo(
  { email, username }: FirstAdmin,
  token: string,
  { snapshot, environment }: FirstAdminRun,
): Promise<string | undefined | typeof UNKNOWN> {
  const user = await coderdClient(token, { snapshot, environment }).user(username);
  if (!user.ok) return UNKNOWN;
  if (!user.value) return `but none is named "${username}"`;
  if (user.value.email.toLowerCase() !== email.toLowerCase())
    return `and "${username}" has another email address`;
  return user.value.roles.includes(OWNER_ROLE) ? undefined : `and "${username}" lacks the role ${OWNER_ROLE}`;
}
