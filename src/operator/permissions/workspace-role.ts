import type { V1PolicyRule } from "@kubernetes/client-node";
import type { ObjectMeta, Role, RoleBinding, Wire } from "kube-controller-runtime";
import { workspaceVerbs } from "./rbac.ts";

export type RoleRule = Wire<V1PolicyRule>;

/** What it takes to build workspaces: pods with their volume claims, and Deployments if wanted. */
export function workspaceRules({ deployments }: { readonly deployments: boolean }): RoleRule[] {
  const rules = [ruleFor("", "pods"), ruleFor("", "persistentvolumeclaims")];
  return deployments ? [...rules, ruleFor("apps", "deployments")] : rules;
}

function ruleFor(apiGroup: string, resource: string): RoleRule {
  return { apiGroups: [apiGroup], resources: [resource], verbs: [...workspaceVerbs] };
}

export function role(metadata: ObjectMeta, rules: readonly RoleRule[]): Role {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata, rules: [...rules] };
}

/** Gives a ServiceAccount a Role of the binding's own namespace. */
export function roleBinding(
  metadata: ObjectMeta,
  roleName: string,
  account: { readonly name: string; readonly namespace: string },
): RoleBinding {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: roleName },
    subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
  };
}
