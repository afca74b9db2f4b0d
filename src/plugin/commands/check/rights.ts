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

const WHAT = "Operator's rights";

/** One right, as the API server is asked about it. */
interface Right {
  readonly namespace?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
}

/** Whether the operator's account may do all that this release of it needs, by asking the API server. */
export async function rightsFinding(
  operator: Stored<Deployment>,
  { client }: Cluster,
  gaps: Gaps,
): Promise<Finding> {
  const user = accountOf(operator);
  const rights = rightsNeeded(leaseNamespaceOf(operator), namespacesOf(operator));
  const missing = await missingRights(rights, { client, user, gaps });
  if (!missing) return finding(WHAT, "unknown", "Nobody could be asked what the operator may do.");
  if (missing.length === 0)
    return finding(WHAT, "good", `"${user}" has all ${rights.length} rights that it needs.`);
  const message = `"${user}" may not ${some(missing)}: bring its role up to date with helm upgrade.`;
  return finding(WHAT, "wrong", message);
}

/** What of its Lease the operator may not do, as a sentence; absent when it may, or nobody could be asked. */
export async function missingLeaseRights(
  operator: Stored<Deployment>,
  { client }: Cluster,
  gaps: Gaps,
): Promise<string | undefined> {
  const user = accountOf(operator);
  const rights = permissions
    .filter(isForLease)
    .flatMap((rule) => product(rule, [leaseNamespaceOf(operator)]));
  const missing = await missingRights(rights, { client, user, gaps });
  return missing?.length ? `"${user}" may not ${some(missing)}` : undefined;
}

interface Asking {
  readonly client: Client;
  readonly user: string;
  readonly gaps: Gaps;
}

/** Those of the rights that the account lacks, by resource; `undefined` when nobody could be asked. */
async function missingRights(
  rights: readonly Right[],
  { client, user, gaps }: Asking,
): Promise<string[] | undefined> {
  const reviews = Promise.all(
    rights.map(async (right) => ((await isAllowed(client, user, right)) ? [] : [right])),
  );
  const lacking = await gaps.read("create subjectaccessreviews, which ask what the operator may do", reviews);
  if (!lacking) return undefined;
  const byResource = Map.groupBy(lacking.flat(), nameOf);
  return [...byResource].map(([name, verbs]) => `${verbs.map(({ verb }) => verb).join("/")} ${name}`);
}

function accountOf({ metadata: { namespace = "" }, spec }: Stored<Deployment>): string {
  return `system:serviceaccount:${namespace}:${spec?.template.spec?.serviceAccountName ?? "default"}`;
}

/** The namespaces that the operator is kept to; empty means the whole cluster. */
function namespacesOf(operator: Stored<Deployment>): string[] {
  return (flagOf(operator, "--namespaces") ?? "").split(",").filter(Boolean);
}

/** Where the operator's Lease is: in its own namespace, unless a flag names another. */
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
 * The Lease is in a namespace of its own, all else is where the operator works. One that is kept to some namespaces does without
 * what belongs to none.
 */
function rightsNeeded(leaseNamespace: string, namespaces: readonly string[]): Right[] {
  const all = permissions.flatMap((rule) => {
    if (rule.clusterScoped && namespaces.length > 0) return [];
    if (isForLease(rule)) return product(rule, [leaseNamespace]);
    return product(rule, namespaces.length > 0 ? namespaces : [undefined]);
  });
  return distinctBy(all, (right) => `${right.verb} ${nameOf(right)}`);
}

function product(
  { resources, verbs }: Pick<PolicyRule, "resources" | "verbs">,
  places: readonly (string | undefined)[],
): Right[] {
  return resources.flatMap((name) => {
    const [, resource = "", group = "", subresource] = /^([^./]+)(?:\.([^/]+))?(?:\/(.+))?$/.exec(name) ?? [];
    return verbs.flatMap((verb) =>
      places.map((namespace) => defined({ group, resource, verb, subresource, namespace })),
    );
  });
}

async function isAllowed(client: Client, user: string, resourceAttributes: Right): Promise<boolean> {
  const [, , namespace = ""] = user.split(":");
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const { status } = await client.create(SubjectAccessReview, { spec: { user, groups, resourceAttributes } });
  return status?.allowed ?? false;
}

function nameOf({ resource, subresource, group, namespace }: Right): string {
  const name = `${resource}${group ? `.${group}` : ""}${subresource ? `/${subresource}` : ""}`;
  return `${name}${namespace ? ` in "${namespace}"` : ""}`;
}
