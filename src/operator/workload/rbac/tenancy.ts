/** Limits for workspace namespaces. Neither a control plane nor an admission policy can extend them. */
export interface Tenancy {
  readonly operatorNamespace?: string | undefined;
  /** Allowed namespaces in addition to the control plane's own. If empty, all are allowed. */
  readonly workspaceNamespaces: readonly string[];
}

/** Only the namespaces of Kubernetes are excluded. */
export const openTenancy: Tenancy = { workspaceNamespaces: [] };

const KUBERNETES_OWN: readonly string[] = ["kube-system", "kube-public", "kube-node-lease"];

/** Why a namespace other than the control plane's own is not allowed, or undefined if it is. */
export function refusal(namespace: string, tenancy: Tenancy): string | undefined {
  const { operatorNamespace, workspaceNamespaces } = tenancy;
  if (KUBERNETES_OWN.includes(namespace)) return "it belongs to Kubernetes";
  if (namespace === operatorNamespace) return "it is the namespace of the operator";
  if (workspaceNamespaces.length > 0 && !workspaceNamespaces.includes(namespace))
    return "it is not in the operator's --workspace-namespaces";
  return undefined;
}
