import { rbacDefaults } from "../../../api/v1alpha1/defaults.ts";
import type { RbacSpec, ServiceAccountSpec } from "../../../api/v1alpha1/permissions.ts";
import type { Identity, Parent } from "../../names.ts";
import { distinctNames, trimmed } from "../../normalize.ts";

/** An object whose pods build workspaces. */
export interface Builder extends Parent {
  readonly serviceAccount: Readonly<ReturnType<typeof serviceAccountSettings>>;
  /** Undefined if the operator grants no permissions. */
  readonly workspaceAccess: Readonly<ReturnType<typeof workspaceAccess>>;
}

export function serviceAccountSettings(spec: ServiceAccountSpec | undefined, defaultName: string) {
  return {
    name: trimmed(spec?.name) ?? defaultName,
    /** If false, the user manages it, and the operator neither creates nor changes it. */
    managed: !(spec?.disableCreate ?? false),
    labels: spec?.labels ?? {},
    annotations: spec?.annotations ?? {},
  };
}

/** Workspace namespaces and the permissions in them. */
export function workspaceAccess(spec: RbacSpec | undefined, { namespace }: Identity) {
  if (!(spec?.workspacePerms ?? rbacDefaults.workspacePerms)) return undefined;
  return {
    /** Distinct namespaces, starting with the object's own. */
    namespaces: distinctNames([namespace, ...(spec?.workspaceNamespaces ?? [])]),
    deployments: spec?.enableDeployments ?? rbacDefaults.enableDeployments,
    extraRules: spec?.extraRules ?? [],
  };
}
