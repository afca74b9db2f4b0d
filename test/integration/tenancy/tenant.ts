import type { ClusterAccess, KubectlResult } from "kube-controller-runtime/testing";

/** Kubernetes' own `edit` and `view` as they are before any aggregation, and what we add to them. */
const EDITOR_ROLES = [
  "system:aggregate-to-edit",
  "system:aggregate-to-view",
  "coder-k8s-edit",
  "coder-k8s-view",
] as const;

/** Somebody with rights of their own, by whose hand kubectl runs. */
export class Tenant {
  readonly user: string;
  readonly #cluster: ClusterAccess;

  constructor(cluster: ClusterAccess, user: string) {
    this.#cluster = cluster;
    this.user = user;
  }

  kubectl(args: readonly string[], stdin?: string): Promise<KubectlResult> {
    return this.#cluster.kubectl([...args, `--as=${this.user}`], stdin);
  }

  write(object: object): Promise<KubectlResult> {
    return this.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], JSON.stringify(object));
  }

  /** Gives the rights that `edit` with our aggregated roles has in a namespace. */
  async becomeEditor(namespace: string): Promise<void> {
    for (const role of EDITOR_ROLES) await this.#bind(role, namespace);
  }

  /** Gives a right in a namespace. */
  async allow(namespace: string, verb: string, resource: string): Promise<void> {
    const name = `${verb}-${resource}`.replaceAll(/[./]/g, "-");
    const [plural, ...group] = resource.split(".");
    await this.#cluster.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name, namespace },
      rules: [{ apiGroups: [group.join(".")], resources: [plural], verbs: [verb] }],
    });
    await this.#cluster.apply(binding(name, { namespace, kind: "Role", user: this.user }));
  }

  async #bind(role: string, namespace: string): Promise<void> {
    await this.#cluster.apply(binding(role, { namespace, kind: "ClusterRole", user: this.user }));
  }
}

function binding(role: string, { namespace, kind, user }: Record<"namespace" | "kind" | "user", string>) {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: "RoleBinding",
    metadata: { name: `${user}-${role}`, namespace },
    roleRef: { apiGroup, kind, name: role },
    subjects: [{ apiGroup, kind: "User", name: user }],
  };
}

/** A control plane as somebody would write it. */
export function controlPlane(namespace: string, name: string, spec: object = {}): object {
  return { apiVersion: "coder.com/v1alpha1", kind: "CoderControlPlane", metadata: { namespace, name }, spec };
}
