import { ApiError, isNotFound } from "../../../runtime/client/error.ts";
import { OwnedByAnotherError } from "../../../runtime/controller/children.ts";
import type { RunContext } from "../../../runtime/controller/controller.ts";
import { Role, RoleBinding } from "../../../runtime/kinds.ts";
import { type Kind, type KubeObject, keyOfObject, refOf, type Stored } from "../../../runtime/object.ts";
import { applied } from "../../shared/steps/result.ts";
import { grantOwner, grantOwnerOfLabels } from "../grants.ts";
import type { Snapshot } from "../observe.ts";
import { ownerUIDAnnotation, type WorkspaceGrant, workspaceGrants } from "../resources/workspace-rbac.ts";
import type { Result } from "./result.ts";

/** A namespace that is not there (yet, or any more) is looked for this often. */
const NAMESPACE_RETRY_MS = 30_000;

/** Lets coderd run workspaces in its own namespace and in the others that the spec names, and nowhere else. */
export async function ensureWorkspaceRbac(snapshot: Snapshot, context: RunContext): Promise<Result> {
  const grants = workspaceGrants(snapshot.controlPlane);
  const own = grants.filter(({ foreign }) => !foreign);
  await context.children.converge(
    Role,
    own.map(({ role }) => role),
    snapshot.owner,
  );
  await context.children.converge(
    RoleBinding,
    own.map(({ roleBinding }) => roleBinding),
    snapshot.owner,
  );
  const foreign = grants.filter((grant) => grant.foreign);
  await removeForeignGrants(snapshot, context, foreign);
  const missing: string[] = [];
  for (const grant of foreign) {
    if (!(await applyForeign(grant, snapshot, context))) missing.push(grant.namespace);
  }
  return missing.length > 0 ? namespaceMissing(missing) : applied(describe(grants));
}

/** Removes grants from other namespaces, except those that `keep` still wants there. */
export async function removeForeignGrants(
  { foreignGrants }: Pick<Snapshot, "foreignGrants">,
  { children }: RunContext,
  keep: readonly WorkspaceGrant[] = [],
): Promise<void> {
  const roles = new Set(keep.map(({ role }) => keyOfObject(role)));
  const roleBindings = new Set(keep.map(({ roleBinding }) => keyOfObject(roleBinding)));
  for (const binding of foreignGrants.roleBindings) {
    if (!roleBindings.has(keyOfObject(binding))) await children.remove(RoleBinding, binding);
  }
  for (const role of foreignGrants.roles) {
    if (!roles.has(keyOfObject(role))) await children.remove(Role, role);
  }
}

/** Whether the grant is in place; false when its namespace is missing or being deleted. */
async function applyForeign(
  grant: WorkspaceGrant,
  snapshot: Snapshot,
  context: RunContext,
): Promise<boolean> {
  try {
    await applyUnlessForeign(Role, grant.role, { snapshot, context });
    await applyUnlessForeign(RoleBinding, grant.roleBinding, { snapshot, context });
    return true;
  } catch (error) {
    if (isNamespaceGone(error)) return false;
    throw error;
  }
}

/** No owner reference protects an object in another namespace, so one that we did not make is looked at first. */
async function applyUnlessForeign<T extends KubeObject>(
  kind: Kind<T>,
  desired: T,
  { snapshot, context }: { snapshot: Snapshot; context: RunContext },
): Promise<void> {
  const { caches, children, client } = context;
  const present = caches.of(kind).get(keyOfObject(desired)) ?? (await findAnew(client, kind, desired));
  if (present && !isOurs(present, snapshot)) {
    throw new OwnedByAnotherError(
      kind,
      refOf(desired),
      "somebody else (it lacks this control plane's labels)",
    );
  }
  await children.applyUnowned(kind, desired);
}

/** By its labels, or by the annotation of a grant whose labels somebody took away. */
function isOurs(present: Stored<KubeObject>, { controlPlane: { identity } }: Snapshot): boolean {
  if (present.metadata.annotations?.[ownerUIDAnnotation] === identity.uid) return true;
  return grantOwnerOfLabels(present).includes(grantOwner(identity));
}

async function findAnew<T extends KubeObject>(
  client: RunContext["client"],
  kind: Kind<T>,
  desired: T,
): Promise<Stored<T> | undefined> {
  try {
    return await client.get(kind, refOf(desired));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function isNamespaceGone(error: unknown): boolean {
  if (isNotFound(error)) return true;
  return error instanceof ApiError && error.code === 403 && error.message.includes("is being terminated");
}

function namespaceMissing(namespaces: readonly string[]): Result {
  const names = namespaces.map((name) => `"${name}"`).join(", ");
  const message = `workspace namespace ${names} does not exist or is being deleted; create it or remove it from spec.rbac.workspaceNamespaces`;
  return {
    condition: { status: "False", reason: "NamespaceMissing", message },
    requeueAfterMs: NAMESPACE_RETRY_MS,
  };
}

function describe(grants: readonly WorkspaceGrant[]): string {
  if (grants.length === 0) return "workspace permissions are turned off by spec.rbac.workspacePerms";
  return `workspaces may run in ${grants.map(({ namespace }) => namespace).join(", ")}`;
}
