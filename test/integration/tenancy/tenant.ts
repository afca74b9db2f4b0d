import {
  apiObject,
  apiRequest,
  type ClusterAccess,
  eventually,
  type KubectlResult,
} from "kube-controller-runtime/testing";

/** Kubernetes' own `edit` and `view` as they are before any aggregation, and what we add to them. */
const EDITOR_ROLES = [
  "system:aggregate-to-edit",
  "system:aggregate-to-view",
  "coder-k8s-view",
  "coder-k8s-edit",
] as const;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const CODER = "/apis/coder.com/v1alpha1";

/** A custom resource as a user would write it. */
export interface Wish {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec?: object;
}

/** The API server's response to a write; `because` is empty if it was accepted. */
export interface Verdict {
  readonly accepted: boolean;
  readonly because: string;
}

/** A user with limited permissions, who writes to the API server like kubectl. */
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

  /** Server-side apply, with force. */
  write(wish: Wish): Promise<Verdict> {
    return this.#send(
      `${pathOf(wish)}?fieldManager=kubectl&force=true`,
      wish,
      "application/apply-patch+yaml",
    );
  }

  /** A merge patch. */
  patch(wish: Wish, patch: object): Promise<Verdict> {
    return this.#send(pathOf(wish), patch, "application/merge-patch+json");
  }

  async #send(path: string, body: object, contentType: string): Promise<Verdict> {
    const request = { method: "PATCH", path, body, contentType, as: this.user } as const;
    const { status, text, warning } = await apiRequest(this.#admin, request);
    if (status < 300) return { accepted: true, because: warning ?? "" };
    return { accepted: false, because: (JSON.parse(text) as { message: string }).message };
  }

  /** Gives the rights that `edit` with our aggregated roles has in a namespace. */
  async becomeEditor(namespace: string): Promise<void> {
    for (const role of EDITOR_ROLES) await this.#bind(role, { namespace, kind: "ClusterRole" });
    // The last of them gives it, and the authorizer learns of bindings in order.
    await this.#until(namespace, "create", "codercontrolplanes.coder.com");
  }

  /** Gives a right in a namespace. */
  async allow(namespace: string, verb: string, resource: string): Promise<void> {
    const name = `${verb}-${resource}`.replaceAll(/[./]/g, "-");
    const [plural, ...group] = resource.split(".");
    const rules = [{ apiGroups: [group.join(".")], resources: [plural], verbs: [verb] }];
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name }, rules };
    await this.#apply(`${RBAC}/namespaces/${namespace}/roles/${name}`, role);
    await this.#bind(name, { namespace, kind: "Role" });
    await this.#until(namespace, verb, resource);
  }

  async #bind(role: string, { namespace, kind }: Record<"namespace" | "kind", string>): Promise<void> {
    const name = `${this.user}-${role}`;
    const apiGroup = "rbac.authorization.k8s.io";
    await this.#apply(`${RBAC}/namespaces/${namespace}/rolebindings/${name}`, {
      apiVersion: `${apiGroup}/v1`,
      kind: "RoleBinding",
      metadata: { name },
      roleRef: { apiGroup, kind, name: role },
      subjects: [{ apiGroup, kind: "User", name: this.user }],
    });
  }

  /** The authorizer of the API server learns of roles and bindings a moment after they are stored. */
  async #until(namespace: string, verb: string, path: string): Promise<void> {
    const [full = "", ...groups] = path.split(".");
    const [resource, subresource] = full.split("/");
    const resourceAttributes = { namespace, verb, group: groups.join("."), resource, subresource };
    const spec = { user: this.user, groups: ["system:authenticated"], resourceAttributes };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    await eventually(
      async () => {
        const review = await apiObject<{ status: { allowed: boolean } }>(this.#admin, {
          method: "POST",
          path: REVIEWS,
          body,
        });
        if (!review.status.allowed)
          throw new Error(`${this.user} may not ${verb} ${path} in ${namespace} yet`);
      },
      { withinMs: 20_000 },
    );
  }

  async #apply(path: string, body: object): Promise<void> {
    const contentType = "application/apply-patch+yaml";
    await apiObject(this.#admin, {
      method: "PATCH",
      path: `${path}?fieldManager=test&force=true`,
      body,
      contentType,
    });
  }

  get #admin() {
    const { server, caFile, admin } = this.#cluster;
    return { server, caFile, token: admin.token };
  }
}

function pathOf({ kind, metadata: { namespace, name } }: Wish): string {
  return `${CODER}/namespaces/${namespace}/${kind.toLowerCase().replace(/y$/, "ie")}s/${name}`;
}

/** A control plane as a user would write it. */
export function controlPlane(namespace: string, name: string, spec: object = {}): Wish {
  return { apiVersion: "coder.com/v1alpha1", kind: "CoderControlPlane", metadata: { namespace, name }, spec };
}
