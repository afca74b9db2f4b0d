import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { apiObject } from "./api-request.ts";
import { AuditLog, type AuditRequest } from "./audit.ts";
import { type Identity, writeKubeconfig } from "./credentials.ts";
import { compactEtcd } from "./etcd.ts";
import { markDeploymentReady, markPodsReady } from "./readiness.ts";

/** How to reach a cluster: plain data, so that one process can start it and others use it. */
export interface ClusterConnection {
  readonly server: string;
  readonly caFile: string;
  readonly admin: Identity;
  readonly operator: Identity;
  readonly replica: Identity;
  readonly etcdUrl: string;
  readonly kubectlBinary: string;
  readonly kubectlCacheDir: string;
  readonly auditLog: string | undefined;
  /** Whether a controller manager runs, which updates the status of Deployments. */
  readonly controllers: boolean;
}

/** The result of a kubectl call. */
export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** Operations for tests on any cluster, their own or a shared one. */
export class ClusterAccess {
  readonly connection: ClusterConnection;
  readonly #audit: AuditLog | undefined;

  constructor(connection: ClusterConnection) {
    this.connection = connection;
    this.#audit = connection.auditLog === undefined ? undefined : new AuditLog(connection.auditLog);
  }

  /** Base URL of the API server. */
  get server(): string {
    return this.connection.server;
  }

  /** The CA certificate of the API server. */
  get caFile(): string {
    return this.connection.caFile;
  }

  /** Has all permissions. */
  get admin(): Identity {
    return this.connection.admin;
  }

  /** The service account of `ClusterOptions.operator`: has the permissions of the installed roles only. */
  get operator(): Identity {
    return this.connection.operator;
  }

  /** Has no permissions: a test that runs two operators gives it a role, and finds it in the audit log. */
  get replica(): Identity {
    return this.connection.replica;
  }

  /** Runs kubectl as the admin, or as the identity of a `--kubeconfig` among the arguments. */
  async kubectl(args: readonly string[], stdin = ""): Promise<KubectlResult> {
    const { kubectlBinary, kubectlCacheDir, admin } = this.connection;
    const child = spawn(kubectlBinary, args, {
      env: { ...process.env, KUBECONFIG: admin.kubeconfig, KUBECACHEDIR: kubectlCacheDir, KUBERC: "off" },
    });
    const exit = new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? -1));
    });
    child.stdin.on("error", () => {}).end(stdin);
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
    return { stdout, stderr, code };
  }

  /**
   * Applies a manifest (YAML, JSON or an object) as the admin; throws with the output of kubectl on failure.
   */
  async apply(manifest: string | object): Promise<void> {
    await this.#mustKubectl(
      ["apply", "-f", "-"],
      typeof manifest === "string" ? manifest : JSON.stringify(manifest),
    );
  }

  /**
   * Installs manifests, from files or folders, and waits until their kinds are served. Admission policies
   * take effect a moment later.
   */
  async install(...manifests: readonly string[]): Promise<void> {
    const files = manifests.flatMap((path) => ["-f", path]);
    // Server-side, because client-side apply would copy each large schema into an annotation.
    const { stdout } = await this.#mustKubectl(["apply", "--server-side", "-o", "name", ...files]);
    const definitions = stdout.split("\n").filter((name) => name.startsWith("customresourcedefinition"));
    if (definitions.length > 0)
      await this.#mustKubectl(["wait", "--for=condition=Established", "--timeout=30s", ...definitions]);
  }

  /** Creates a namespace with a unique name and returns the name. */
  async createNamespace(prefix: string): Promise<string> {
    const name = `${prefix}-${randomBytes(4).toString("hex")}`;
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await apiObject(this.#asAdmin(), { method: "POST", path: "/api/v1/namespaces", body });
    return name;
  }

  /** Creates a service account without permissions, and a token for it. */
  async createServiceAccount(namespace: string, name: string): Promise<Identity> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } };
    await apiObject(this.#asAdmin(), { method: "POST", path, body: account });
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { status } = await apiObject<{ status: { token: string } }>(this.#asAdmin(), {
      method: "POST",
      path: `${path}/${name}/token`,
      body: request,
    });
    const identity = {
      user: `system:serviceaccount:${namespace}:${name}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
      token: status.token,
      kubeconfig: join(dirname(this.admin.kubeconfig), `${namespace}-${name}.kubeconfig`),
    };
    writeKubeconfig(identity, this.server, this.caFile);
    return identity;
  }

  /** Acts as the Deployment controller if none runs: reports all replicas of its current spec as ready. */
  async markDeploymentReady(namespace: string, name: string): Promise<void> {
    if (this.connection.controllers)
      throw new Error("the controllers of this cluster would revert it: mark the pods ready instead");
    await markDeploymentReady(this.#asAdmin(), namespace, name);
  }

  /** Acts as the kubelet: reports the pods that match the label selector as running and ready. */
  async markPodsReady(namespace: string, selector: string): Promise<void> {
    await markPodsReady(this.#asAdmin(), namespace, selector);
  }

  /**
   * Compacts etcd's history. Older watches and continue tokens get 410 Gone when the API server asks etcd,
   * which its watch cache otherwise prevents.
   */
  async compactHistory(): Promise<void> {
    await compactEtcd(this.connection.etcdUrl);
  }

  /** Every request to the API server, oldest first; requires a cluster with `audit`. */
  async auditRequests(): Promise<AuditRequest[]> {
    if (!this.#audit) throw new Error("this cluster was started without audit");
    return this.#audit.read();
  }

  #asAdmin() {
    return { server: this.server, caFile: this.caFile, token: this.admin.token };
  }

  async #mustKubectl(args: readonly string[], stdin?: string): Promise<KubectlResult> {
    const result = await this.kubectl(args, stdin);
    if (result.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${result.stderr.trim()}`);
    return result;
  }
}
