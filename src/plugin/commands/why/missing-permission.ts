import type { Stored } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import { withDefaults as controlPlaneOf } from "../../../operator/coderd/settings.ts";
import { withDefaults as provisionerOf } from "../../../operator/provisioner/spec.ts";
import type { Builder } from "../../../operator/workload/rbac/settings.ts";
import { typedName } from "../../objects.ts";
import type { Link } from "./report.ts";
import type { Snapshot } from "./snapshot.ts";

/** The error message of Kubernetes, which Terraform prints unchanged. */
const REFUSAL =
  /User "system:serviceaccount:([^:"]+):([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

interface Refusal {
  readonly account: { readonly namespace: string; readonly name: string };
  readonly verb: string;
  /** As kubectl prints it: `deployments.apps`. */
  readonly resource: string;
  /** Absent for a cluster-scoped request. */
  readonly namespace: string | undefined;
}

/**
 * Explains a build that failed because its daemon lacks a permission; empty if its log contains no such
 * error.
 */
export function explainMissingPermission(log: string, snapshot: Snapshot): Link[] {
  const refusal = refusalIn(log);
  if (!refusal) return [];
  const { account, verb, resource, namespace } = refusal;
  const builder = buildersOf(snapshot).find(
    ({ settings: { identity, serviceAccount } }) =>
      identity.namespace === account.namespace && serviceAccount.name === account.name,
  );
  const where = namespace ? `in namespace "${namespace}"` : "in the whole cluster";
  const message = `ServiceAccount "${account.name}" may not ${verb} ${resource} ${where}. ${adviceFor(refusal, builder?.settings)}`;
  const object = builder?.name ?? `serviceaccount/${account.name}`;
  return [{ depth: 1, object, state: "lacks a permission", message, severity: "wrong" }];
}

function refusalIn(log: string): Refusal | undefined {
  const [, ofNamespace, ofName, verb, plural, group, namespace] = REFUSAL.exec(log) ?? [];
  if (!ofNamespace || !ofName || !verb || !plural) return undefined;
  const resource = group ? `${plural}.${group}` : plural;
  return { account: { namespace: ofNamespace, name: ofName }, verb, resource, namespace };
}

interface NamedBuilder {
  readonly name: string;
  readonly settings: Builder;
}

/** Daemons of a pool take builds first; coderd runs them itself if there is no pool. */
function buildersOf({ provisioners, controlPlanes }: Snapshot): NamedBuilder[] {
  return [
    ...provisioners.map((object: Stored<CoderProvisioner>) => ({
      name: typedName(CoderProvisioner, object.metadata),
      settings: provisionerOf(object),
    })),
    ...controlPlanes.map((object: Stored<CoderControlPlane>) => ({
      name: typedName(CoderControlPlane, object.metadata),
      settings: controlPlaneOf(object),
    })),
  ];
}

/** The field that grants the permission. */
function adviceFor({ resource, namespace, verb }: Refusal, builder: Builder | undefined): string {
  if (!builder) return "Grant the permission with a Role.";
  const { workspaceAccess } = builder;
  if (!workspaceAccess) return "Set spec.rbac.workspacePerms to true, or create your own Role.";
  if (!namespace) return "Create your own ClusterRole: the operator only grants permissions in namespaces.";
  if (!workspaceAccess.namespaces.includes(namespace))
    return `Add "${namespace}" to spec.rbac.workspaceNamespaces.`;
  if (resource === "deployments.apps" && !workspaceAccess.deployments)
    return "Set spec.rbac.enableDeployments to true.";
  return `Add ${verb} on ${resource} to spec.rbac.extraRules.`;
}
