/** Where workspaces may run at most; neither a control plane nor an admission policy can widen it. */
export interface Tenancy {
  readonly operatorNamespace?: string | undefined;
  /** Namespaces to which control planes are kept, besides their own; any when empty. */
  readonly workspaceNamespaces: readonly string[];
}

/** Nothing but what Kubernetes keeps for itself is out of bounds. */
export const openTenancy: Tenancy = { workspaceNamespaces: [] };

const KUBERNETES_OWN: readonly string[] = ["kube-system", "kube-public", "kube-node-lease"];

/** Why no workspace may run in a namespace that is not the control plane's own; nothing when it may. */
export function refusal(namespace: string, tenancy: Tenancy): string | undefined {
  const { operatorNamespace, workspaceNamespaces } = tenancy;
  if (KUBERNETES_OWN.includes(namespace)) return "it belongs to Kubernetes";
  if (namespace === operatorNamespace) return "it is the namespace of the operator";
  if (workspaceNamespaces.length > 0 && !workspaceNamespaces.includes(namespace))
    return "it is not in the operator's --workspace-namespaces";
  return undefined;
}
