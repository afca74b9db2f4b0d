import {
  ApiError,
  allOf,
  applied,
  blocked,
  isNotFound,
  keyOfObject,
  type Owner,
  Role,
  RoleBinding,
  type RunContext,
} from "kube-controller-runtime";
import type { Snapshot } from "../observe.ts";
import { type WorkspaceGrant, workspaceGrantLabels, workspaceGrants } from "../resources/workspace-rbac.ts";
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
  const wanted = foreign.map(({ namespace }) => namespace);
  const outside = wanted.filter((namespace) => !roles.covers(namespace));
  reportLeftGrants(snapshot, context, wanted);
  const recorded = recordedNamespaces(snapshot).filter((namespace) => outside.includes(namespace));
  const present = wanted.filter((namespace) => !outside.includes(namespace) && !missing.includes(namespace));
  const status = { workspaceNamespaces: unlessNone([...present, ...recorded]) };
  if (foreign.length < asked.length) return { ...refused(asked, tenancy), status };
  if (outside.length > 0) return { ...outOfScope(outside), status };
  return { ...(missing.length > 0 ? namespaceMissing(missing) : applied(describe(grants))), status };
}

/** The other namespaces in which the control plane is known to have permissions. */
export function recordedNamespaces({ object }: Pick<Snapshot, "object">): readonly string[] {
  return object.status?.workspaceNamespaces ?? [];
}

function unlessNone(namespaces: readonly string[]): string[] | undefined {
  return namespaces.length > 0 ? [...new Set(namespaces)].sort() : undefined;
}

/** Removes what a control plane that is deleted has in other namespaces, and reports what the operator can't reach. */
export async function releaseGrants(snapshot: Snapshot, context: RunContext): Promise<void> {
  await removeForeignGrants(snapshot, context);
  reportLeftGrants(snapshot, context, []);
}

/** A person must remove what was granted in a namespace that `--namespaces` covered before and no longer covers. */
function reportLeftGrants(snapshot: Snapshot, context: RunContext, wanted: readonly string[]): void {
  const roles = context.caches.of(Role);
  const isLeft = (namespace: string) => !roles.covers(namespace) && !wanted.includes(namespace);
  const labels = Object.entries(workspaceGrantLabels(snapshot.controlPlane.identity));
  const selector = labels.map(([name, value]) => `${name}=${value}`).join(",");
  for (const namespace of recordedNamespaces(snapshot).filter(isLeft)) {
    const message = `Permissions in namespace "${namespace}" stay, because it is not among the operator's --namespaces any more; remove them: kubectl -n ${namespace} delete roles,rolebindings -l ${selector}`;
    context.log.warn("workspace permissions were left behind", { namespace });
    context.events.event(snapshot.object, { type: "Warning", reason: "GrantsLeftBehind", message });
  }
}

/** Removes grants from other namespaces, except those that `keep` still wants there. */
async function removeForeignGrants(
  snapshot: Pick<Snapshot, "controlPlane" | "foreignGrants" | "owner">,
  { children }: RunContext,
  keep: readonly WorkspaceGrant[] = [],
): Promise<void> {
  const roles = new Set(keep.map(({ role }) => keyOfObject(role)));
  const roleBindings = new Set(keep.map(({ roleBinding }) => keyOfObject(roleBinding)));
  const { foreignGrants } = snapshot;
  const owner = abroad(snapshot);
  for (const binding of foreignGrants.roleBindings) {
    if (!roleBindings.has(keyOfObject(binding))) await children.remove(RoleBinding, binding, owner);
  }
  for (const role of foreignGrants.roles) {
    if (!roles.has(keyOfObject(role))) await children.remove(Role, role, owner);
  }
}

/**
 * Applies grants to other namespaces, to all at once, and tells which of those are missing or being deleted. A
 * namespace that fails takes nothing from the others: its error is thrown after all have had their turn.
 */
async function applyForeign(
  grants: readonly WorkspaceGrant[],
  snapshot: Snapshot,
  { children }: RunContext,
): Promise<string[]> {
  const owner = abroad(snapshot);
  const missing = grants.map(async ({ namespace, role, roleBinding }) => {
    try {
      // Kubernetes refuses a binding to a Role that it does not know.
      await children.apply(Role, role, owner);
      await children.apply(RoleBinding, roleBinding, owner);
      return [];
    } catch (error) {
      if (isNamespaceGone(error)) return [namespace];
      throw error;
    }
  });
  return (await allOf(missing)).flat();
}

/** The control plane as the owner of objects in other namespaces, whose labels say more. */
function abroad({ owner, controlPlane: { identity } }: Pick<Snapshot, "controlPlane" | "owner">): Owner {
  return { ...owner, labels: { ...owner.labels, ...workspaceGrantLabels(identity) } };
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
