import {
  type Client,
  type Deployment,
  type PolicyRule,
  type Stored,
  SubjectAccessReview,
} from "kube-controller-runtime";
import { defined, distinctBy } from "../../../operator/normalise.ts";
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
  const { namespace = "" } = operator.metadata;
  const account = operator.spec?.template.spec?.serviceAccountName ?? "default";
  const user = `system:serviceaccount:${namespace}:${account}`;
  const rights = rightsNeeded(namespace, namespacesOf(operator));
  const reviews = Promise.all(
    rights.map(async (right) => ((await isAllowed(client, user, right)) ? [] : [right])),
  );
  const lacking = await gaps.read("create subjectaccessreviews, which ask what the operator may do", reviews);
  if (!lacking) return finding(WHAT, "unknown", "Nobody could be asked what the operator may do.");
  const byResource = Map.groupBy(lacking.flat(), nameOf);
  const missing = [...byResource].map(([name, some]) => `${some.map(({ verb }) => verb).join("/")} ${name}`);
  if (missing.length === 0)
    return finding(WHAT, "good", `"${user}" has all ${rights.length} rights that it needs.`);
  const message = `"${user}" may not ${some(missing)}: bring its role up to date with helm upgrade.`;
  return finding(WHAT, "wrong", message);
}

/** The namespaces that the operator is kept to; empty means the whole cluster. */
function namespacesOf({ spec }: Stored<Deployment>): string[] {
  const args = spec?.template.spec?.containers.flatMap((container) => container.args ?? []) ?? [];
  const flag = args.find((arg) => arg.startsWith("--namespaces="));
  return (flag?.slice("--namespaces=".length) ?? "").split(",").filter(Boolean);
}

/** The Lease is in the operator's own namespace, all else where it works. */
function rightsNeeded(own: string, namespaces: readonly string[]): Right[] {
  const all = permissions.flatMap((rule) => {
    const isLease = rule.resources.includes("leases.coordination.k8s.io");
    return product(rule, isLease ? [own] : namespaces.length > 0 ? namespaces : [undefined]);
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
