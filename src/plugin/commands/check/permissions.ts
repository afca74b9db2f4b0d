import {
  type Client,
  type Deployment,
  type PolicyRule,
  type Stored,
  SubjectAccessReview,
} from "kube-controller-runtime";
import { defined, distinctBy } from "../../../operator/normalize.ts";
import { permissions } from "../../../operator/rules.ts";
import type { Cluster } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { type Finding, finding, some } from "./report.ts";

const WHAT = "Operator permissions";

/** A permission, in the form of a SubjectAccessReview. */
interface Permission {
  readonly namespace?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
}

/** Asks the API server whether the operator's ServiceAccount has all permissions that this release needs. */
export async function permissionsFinding(
  operator: Stored<Deployment>,
  { client }: Cluster,
  gaps: Gaps,
): Promise<Finding> {
  const user = accountOf(operator);
  const required = requiredPermissions(leaseNamespaceOf(operator), namespacesOf(operator));
  const missing = await missingPermissions(required, { client, user, gaps });
  if (!missing) return finding(WHAT, "unknown", "The operator's permissions could not be checked.");
  if (missing.length === 0)
    return finding(WHAT, "good", `"${user}" has all ${required.length} required permissions.`);
  const message = `"${user}" may not ${some(missing)}: update its role with helm upgrade.`;
  return finding(WHAT, "wrong", message);
}

/**
 * The missing permissions on the operator's Lease, as a sentence; absent if it has all, or if they could not
 * be checked.
 */
export async function missingLeasePermissions(
  operator: Stored<Deployment>,
  { client }: Cluster,
  gaps: Gaps,
): Promise<string | undefined> {
  const user = accountOf(operator);
  const required = permissions
    .filter(isForLease)
    .flatMap((rule) => product(rule, [leaseNamespaceOf(operator)]));
  const missing = await missingPermissions(required, { client, user, gaps });
  return missing?.length ? `"${user}" may not ${some(missing)}` : undefined;
}

interface Asking {
  readonly client: Client;
  readonly user: string;
  readonly gaps: Gaps;
}

/** The permissions that the account lacks, by resource; `undefined` if they could not be checked. */
async function missingPermissions(
  permissions: readonly Permission[],
  { client, user, gaps }: Asking,
): Promise<string[] | undefined> {
  const reviews = Promise.all(
    permissions.map(async (permission) => ((await isAllowed(client, user, permission)) ? [] : [permission])),
  );
  const lacking = await gaps.read(
    "create subjectaccessreviews, which check the operator's permissions",
    reviews,
  );
  if (!lacking) return undefined;
  const byResource = Map.groupBy(lacking.flat(), nameOf);
  return [...byResource].map(([name, verbs]) => `${verbs.map(({ verb }) => verb).join("/")} ${name}`);
}

function accountOf({ metadata: { namespace = "" }, spec }: Stored<Deployment>): string {
  return `system:serviceaccount:${namespace}:${spec?.template.spec?.serviceAccountName ?? "default"}`;
}

/** The namespaces that the operator is limited to; empty means the whole cluster. */
function namespacesOf(operator: Stored<Deployment>): string[] {
  return (flagOf(operator, "--namespaces") ?? "").split(",").filter(Boolean);
}

/** The namespace of the operator's Lease: its own, unless a flag names another. */
export function leaseNamespaceOf(operator: Stored<Deployment>): string {
  return flagOf(operator, "--leader-election-namespace") ?? operator.metadata.namespace ?? "";
}

function flagOf({ spec }: Stored<Deployment>, name: string): string | undefined {
  const args = spec?.template.spec?.containers.flatMap((container) => container.args ?? []) ?? [];
  return args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
}

function isForLease({ resources }: PolicyRule): boolean {
  return resources.includes("leases.coordination.k8s.io");
}

/**
 * The Lease has its own namespace; all other permissions apply where the operator works. An operator that is
 * limited to namespaces needs no cluster-scoped permissions.
 */
function requiredPermissions(leaseNamespace: string, namespaces: readonly string[]): Permission[] {
  const all = permissions.flatMap((rule) => {
    if (rule.clusterScoped && namespaces.length > 0) return [];
    if (isForLease(rule)) return product(rule, [leaseNamespace]);
    return product(rule, namespaces.length > 0 ? namespaces : [undefined]);
  });
  return distinctBy(all, (permission) => `${permission.verb} ${nameOf(permission)}`);
}

function product(
  { resources, verbs }: Pick<PolicyRule, "resources" | "verbs">,
  places: readonly (string | undefined)[],
): Permission[] {
  return resources.flatMap((name) => {
    const [, resource = "", group = "", subresource] = /^([^./]+)(?:\.([^/]+))?(?:\/(.+))?$/.exec(name) ?? [];
    return verbs.flatMap((verb) =>
      places.map((namespace) => defined({ group, resource, verb, subresource, namespace })),
    );
  });
}

async function isAllowed(client: Client, user: string, resourceAttributes: Permission): Promise<boolean> {
  const [, , namespace = ""] = user.split(":");
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const { status } = await client.create(SubjectAccessReview, { spec: { user, groups, resourceAttributes } });
  return status?.allowed ?? false;
}

function nameOf({ resource, subresource, group, namespace }: Permission): string {
  const name = `${resource}${group ? `.${group}` : ""}${subresource ? `/${subresource}` : ""}`;
  return `${name}${namespace ? ` in "${namespace}"` : ""}`;
}
