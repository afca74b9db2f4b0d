import { rbacDefaults } from "../../../api/v1alpha1/defaults.ts";
import type { RbacSpec, ServiceAccountSpec } from "../../../api/v1alpha1/permissions.ts";
import type { Identity, Parent } from "../../names.ts";
import { distinctNames, trimmed } from "../../normalize.ts";

/** An object of ours whose pods build workspaces. */
export interface Builder extends Parent {
  readonly serviceAccount: Readonly<ReturnType<typeof serviceAccountSettings>>;
  /** Absent: the pods get no permissions from us. */
  readonly workspaceAccess: Readonly<ReturnType<typeof workspaceAccess>>;
}

export function serviceAccountSettings(spec: ServiceAccountSpec | undefined, defaultName: string) {
  return {
    name: trimmed(spec?.name) ?? defaultName,
    /** False: it is the user's, and we neither make nor keep it. */
    managed: !(spec?.disableCreate ?? false),
    labels: spec?.labels ?? {},
    annotations: spec?.annotations ?? {},
  };
}

/** Where workspaces run and what may be done there. */
export function workspaceAccess(spec: RbacSpec | undefined, { namespace }: Identity) {
  if (!(spec?.workspacePerms ?? rbacDefaults.workspacePerms)) return undefined;
  return {
    /** The own namespace first, each once. */
    namespaces: distinctNames([namespace, ...(spec?.workspaceNamespaces ?? [])]),
    deployments: spec?.enableDeployments ?? rbacDefaults.enableDeployments,
    extraRules: spec?.extraRules ?? [],
  };
}
