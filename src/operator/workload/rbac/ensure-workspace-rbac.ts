import {
  ApiError,
  allOf,
  applied,
  blocked,
  type Children,
  isNotFound,
  keyOfObject,
  type Logger,
  notRequested,
  type Owner,
  Role,
  RoleBinding,
  type StepResult,
  type Stored,
  type WithStatus,
} from "kube-controller-runtime";
import { type Identity, selectorOf } from "../../names.ts";
import { unlessEmpty } from "../../normalize.ts";
import type { ForeignGrants, GrantTie } from "./grant-tie.ts";
import { refusal, type Tenancy } from "./tenancy.ts";
import type { WorkspaceGrant } from "./workspace-grants.ts";

interface GrantStatus {
  workspaceNamespaces?: string[];
}
type GrantResult = StepResult<GrantStatus>;

/** Desired and existing permissions of an object. */
export interface Grants {
  readonly object: Stored<WithStatus<GrantStatus>>;
  readonly owner: Owner;
  readonly identity: Identity;
  readonly tie: GrantTie;
  readonly wanted: readonly WorkspaceGrant[];
  readonly foreign: ForeignGrants;
  /** Whether the operator watches a namespace; see `--namespaces`. */
  readonly isInScope: (namespace: string) => boolean;
}

/** Dependencies for granting permissions. */
interface Granting {
  readonly children: Pick<Children, "apply" | "converge" | "remove">;
  readonly log: Logger;
  readonly own: { emit(type: "Warning", reason: string, message: string): void };
}

/** Polling interval for a missing namespace. */
const NAMESPACE_RETRY_MS = 30_000;

/**
 * Grants permissions to run workspaces in the object's namespace and in those namespaces of the spec that
 * `tenancy` allows, and nowhere else.
 */
export async function ensureWorkspaceRbac(
  { grants }: { readonly grants: Grants },
  environment: Granting,
  tenancy: Tenancy,
): Promise<GrantResult> {
  const { children } = environment;
  const { isInScope, owner } = grants;
  const own = grants.wanted.filter(({ foreign }) => !foreign);
  const [roles, roleBindings] = [own.map(({ role }) => role), own.map(({ roleBinding }) => roleBinding)];
  await children.converge(Role, roles, owner);
  await children.converge(RoleBinding, roleBindings, owner);
  const asked = grants.wanted.filter((grant) => grant.foreign);
  const foreign = asked.filter(({ namespace }) => refusal(namespace, tenancy) === undefined);
  await removeForeignGrants(grants, environment, foreign);
  const missing = await applyForeign(
    foreign.filter(({ namespace }) => isInScope(namespace)),
    grants,
    environment,
  );
  const wanted = foreign.map(({ namespace }) => namespace);
  const outside = wanted.filter((namespace) => !isInScope(namespace));
  reportLeftGrants(grants, environment, wanted);
  const recorded = recordedNamespaces(grants).filter((namespace) => outside.includes(namespace));
  const present = wanted.filter((namespace) => !outside.includes(namespace) && !missing.includes(namespace));
  const status = { workspaceNamespaces: unlessEmpty([...new Set([...present, ...recorded])].sort()) };
  if (foreign.length < asked.length) return { ...refused(asked, tenancy), status };
  if (outside.length > 0) return { ...outOfScope(outside), status };
  return { ...(missing.length > 0 ? namespaceMissing(missing) : granted(grants.wanted)), status };
}

/** Other namespaces in which the object has permissions. */
export function recordedNamespaces({ object }: Pick<Grants, "object">): readonly string[] {
  return object.status?.workspaceNamespaces ?? [];
}

/**
 * Deletes the permissions of a deleted object in other namespaces, and reports those that the operator cannot
 * reach.
 */
export async function releaseGrants(
  { grants }: { readonly grants: Grants },
  environment: Granting,
): Promise<void> {
  await removeForeignGrants(grants, environment);
  reportLeftGrants(grants, environment, []);
}

/** Users must delete permissions in namespaces that `--namespaces` no longer includes. */
function reportLeftGrants(grants: Grants, { log, own }: Granting, wanted: readonly string[]): void {
  const isLeft = (namespace: string) => !grants.isInScope(namespace) && !wanted.includes(namespace);
  const selector = selectorOf(grants.tie.labelsOf(grants.identity));
  for (const namespace of recordedNamespaces(grants).filter(isLeft)) {
    const message = `Permissions in namespace "${namespace}" remain because the namespace is no longer in the operator's --namespaces. To remove them, run: kubectl -n ${namespace} delete roles,rolebindings -l ${selector}`;
    log.warn("failed to remove workspace permissions", { namespace });
    own.emit("Warning", "GrantsLeftBehind", message);
  }
}

/** Deletes permissions in other namespaces, except those in `keep`. */
async function removeForeignGrants(
  grants: Grants,
  { children }: Granting,
  keep: readonly WorkspaceGrant[] = [],
): Promise<void> {
  const roles = new Set(keep.map(({ role }) => keyOfObject(role)));
  const roleBindings = new Set(keep.map(({ roleBinding }) => keyOfObject(roleBinding)));
  const owner = inOtherNamespaces(grants);
  for (const binding of grants.foreign.roleBindings) {
    if (!roleBindings.has(keyOfObject(binding))) await children.remove(RoleBinding, binding, owner);
  }
  for (const role of grants.foreign.roles) {
    if (!roles.has(keyOfObject(role))) await children.remove(Role, role, owner);
  }
}

/**
 * Applies permissions in all other namespaces concurrently, and returns the namespaces that are missing or
 * terminating. A failing namespace does not affect the others: its error is thrown at the end.
 */
async function applyForeign(
  wanted: readonly WorkspaceGrant[],
  grants: Grants,
  { children }: Granting,
): Promise<string[]> {
  const owner = inOtherNamespaces(grants);
  const missing = wanted.map(async ({ namespace, role, roleBinding }) => {
    try {
      // Kubernetes rejects a binding to a Role that does not exist.
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

/** Adds the labels that identify the owner of objects in other namespaces. */
function inOtherNamespaces({ owner, identity, tie }: Grants): Owner {
  return { ...owner, labels: { ...owner.labels, ...tie.labelsOf(identity) } };
}

function isNamespaceGone(error: unknown): boolean {
  if (isNotFound(error)) return true;
  return error instanceof ApiError && error.code === 403 && error.message.includes("is being terminated");
}

function namespaceMissing(namespaces: readonly string[]): GrantResult {
  const message = `Workspace namespace ${quoted(namespaces)} does not exist or is being deleted; create it or remove it from spec.rbac.workspaceNamespaces.`;
  return blocked("NamespaceMissing", message, { requeueAfterMs: NAMESPACE_RETRY_MS });
}

function refused(grants: readonly WorkspaceGrant[], tenancy: Tenancy): GrantResult {
  const reasons = grants.flatMap(({ namespace }) => {
    const because = refusal(namespace, tenancy);
    return because ? [`"${namespace}": ${because}`] : [];
  });
  const message = `Workspaces may not run in namespace ${reasons.join(", ")}; remove it from spec.rbac.workspaceNamespaces.`;
  return blocked("NamespaceRefused", message);
}

/** The operator could neither repair nor delete objects in a namespace that it does not watch. */
function outOfScope(namespaces: readonly string[]): GrantResult {
  const message = `Workspace namespace ${quoted(namespaces)} is not watched by the operator; add it to the operator's --namespaces or remove it from spec.rbac.workspaceNamespaces.`;
  return blocked("NamespaceOutOfScope", message);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

function granted(grants: readonly WorkspaceGrant[]): GrantResult {
  if (grants.length === 0)
    return notRequested("Workspace permissions are disabled by spec.rbac.workspacePerms.");
  return applied(`Workspaces may run in namespace ${quoted(grants.map(({ namespace }) => namespace))}.`);
}
