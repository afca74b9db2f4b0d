import { ApiError, isNotFound } from "../../../runtime/client/error.ts";
import { find } from "../../../runtime/client/find.ts";
import { OwnedByAnotherError } from "../../../runtime/controller/children.ts";
import type { RunContext } from "../../../runtime/controller/controller.ts";
import { Role, RoleBinding } from "../../../runtime/kinds.ts";
import { type Kind, type KubeObject, keyOfObject, refOf, type Stored } from "../../../runtime/object.ts";
import { applied, blocked } from "../../shared/steps/result.ts";
import { grantOwner, grantOwnerOfLabels } from "../grants.ts";
import type { Snapshot } from "../observe.ts";
import { ownerUIDAnnotation, type WorkspaceGrant, workspaceGrants } from "../resources/workspace-rbac.ts";
import { refusal, type Tenancy } from "../tenancy.ts";
import type { Result } from "./result.ts";

/** A namespace that is not there (yet, or any more) is looked for this often. */
const NAMESPACE_RETRY_MS = 30_000;

/**
 * Lets coderd run workspaces in its own namespace and in the others that the spec names and `tenancy` allows, and
 * nowhere else.
 */
export async function ensureWorkspaceRbac(
  snapshot: Snapshot,
  context: RunContext,
  tenancy: Tenancy,
): Promise<Result> {
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
  const asked = grants.filter((grant) => grant.foreign);
  const foreign = asked.filter(({ namespace }) => refusal(namespace, tenancy) === undefined);
  await removeForeignGrants(snapshot, context, foreign);
  const roles = context.caches.of(Role);
  const missing = await applyForeign(
    foreign.filter(({ namespace }) => roles.covers(namespace)),
    snapshot,
    context,
  );
  if (foreign.length < asked.length) return refused(asked, tenancy);
  const outside = foreign.map(({ namespace }) => namespace).filter((namespace) => !roles.covers(namespace));
  if (outside.length > 0) return outOfScope(outside);
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

/**
 * Applies grants to other namespaces and tells which of those are missing or being deleted. A namespace that
 * fails takes nothing from the others: its error is thrown after all have had their turn.
 */
async function applyForeign(
  grants: readonly WorkspaceGrant[],
  snapshot: Snapshot,
  context: RunContext,
): Promise<string[]> {
  const missing: string[] = [];
  const failures: unknown[] = [];
  for (const { namespace, role, roleBinding } of grants) {
    try {
      await applyUnlessForeign(Role, role, { snapshot, context });
      await applyUnlessForeign(RoleBinding, roleBinding, { snapshot, context });
    } catch (error) {
      if (isNamespaceGone(error)) missing.push(namespace);
      else failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return missing;
}

/** No owner reference protects an object in another namespace, so one that we did not make is looked at first. */
async function applyUnlessForeign<T extends KubeObject>(
  kind: Kind<T>,
  desired: T,
  { snapshot, context }: { snapshot: Snapshot; context: RunContext },
): Promise<void> {
  const { caches, children, client } = context;
  const present = caches.of(kind).get(keyOfObject(desired)) ?? (await find(client, kind, refOf(desired)));
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

function isNamespaceGone(error: unknown): boolean {
  if (isNotFound(error)) return true;
  return error instanceof ApiError && error.code === 403 && error.message.includes("is being terminated");
}

function namespaceMissing(namespaces: readonly string[]): Result {
  const message = `workspace namespace ${quoted(namespaces)} does not exist or is being deleted; create it or remove it from spec.rbac.workspaceNamespaces`;
  return blocked("NamespaceMissing", message, { requeueAfterMs: NAMESPACE_RETRY_MS });
}

function refused(grants: readonly WorkspaceGrant[], tenancy: Tenancy): Result {
  const reasons = grants.flatMap(({ namespace }) => {
    const because = refusal(namespace, tenancy);
    return because ? [`"${namespace}": ${because}`] : [];
  });
  const message = `Workspaces may not run in namespace ${reasons.join(", ")}; remove it from spec.rbac.workspaceNamespaces.`;
  return blocked("NamespaceRefused", message);
}

/** What we made in a namespace that we don't watch, we could neither repair nor remove. */
function outOfScope(namespaces: readonly string[]): Result {
  const message = `workspace namespace ${quoted(namespaces)} is none of those that the operator works in; add it to its --namespaces or remove it from spec.rbac.workspaceNamespaces`;
  return blocked("NamespaceOutOfScope", message);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

function describe(grants: readonly WorkspaceGrant[]): string {
  if (grants.length === 0) return "workspace permissions are turned off by spec.rbac.workspacePerms";
  return `workspaces may run in ${grants.map(({ namespace }) => namespace).join(", ")}`;
}
