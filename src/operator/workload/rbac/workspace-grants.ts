import type { V1PolicyRule } from "@kubernetes/client-node";
import { fnv1a32, type ObjectMeta, type Role, type RoleBinding, type Wire } from "kube-controller-runtime";
import { commonLabels, type Identity, nameLength, ownershipMarks, shortName } from "../../names.ts";
import type { GrantTie } from "./grant-tie.ts";
import { workspaceVerbs } from "./rules.ts";
import type { Builder } from "./settings.ts";

/** Permissions of pods in one namespace. Only objects in the same namespace can have an owner reference. */
export interface WorkspaceGrant {
  readonly namespace: string;
  readonly foreign: boolean;
  readonly role: Role;
  readonly roleBinding: RoleBinding;
}

const apiVersion = "rbac.authorization.k8s.io/v1";

/** One grant for each workspace namespace. `metadataIn` creates the metadata of its objects. */
export function workspaceGrants<B extends Builder>(
  builder: B,
  metadataIn: (builder: B, namespace: string) => Readonly<Record<"role" | "roleBinding", ObjectMeta>>,
): WorkspaceGrant[] {
  const { identity, serviceAccount, workspaceAccess } = builder;
  if (!workspaceAccess) return [];
  const { deployments, extraRules, namespaces } = workspaceAccess;
  const rules = [ruleFor("", "pods"), ruleFor("", "persistentvolumeclaims")];
  if (deployments) rules.push(ruleFor("apps", "deployments"));
  const account = { name: serviceAccount.name, namespace: identity.namespace };
  return namespaces.map((namespace) => {
    const metadata = metadataIn(builder, namespace);
    const roleName = metadata.role.name ?? "";
    return {
      namespace,
      foreign: namespace !== identity.namespace,
      role: { apiVersion, kind: "Role", metadata: metadata.role, rules: [...rules, ...extraRules] },
      roleBinding: {
        apiVersion,
        kind: "RoleBinding",
        metadata: metadata.roleBinding,
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: roleName },
        subjects: [{ kind: "ServiceAccount", ...account }],
      },
    };
  });
}

function ruleFor(apiGroup: string, resource: string): Wire<V1PolicyRule> {
  return { apiGroups: [apiGroup], resources: [resource], verbs: [...workspaceVerbs] };
}

/** A unique name, because objects of several namespaces may share a workspace namespace. */
export function grantName(
  base: string,
  { namespace, name }: Identity,
  { prefix = "", suffix = "" } = {},
): string {
  const owner = `-${fnv1a32(`${namespace}\0${name}`)}`;
  return shortName(base, { prefix, suffix: `${owner}${suffix}`, max: nameLength });
}

/** Metadata to find a grant in any namespace. */
export function tiedMetadata(
  builder: Builder,
  tie: GrantTie,
  ref: { namespace: string; name: string },
): ObjectMeta {
  const { identity } = builder;
  return {
    name: ref.name,
    namespace: ref.namespace,
    labels: { ...builder.labels, ...commonLabels(builder), ...tie.labelsOf(identity) },
    annotations: { [ownershipMarks.ownerUid]: identity.uid },
  };
}
