import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeBinaries } from "../kube/binaries.ts";
import type { KubeBinaries } from "../kube/pins.ts";
import { ClusterAccess, type ClusterConnection } from "./access.ts";
import { ApiServer, apiServerFiles } from "./api-server.ts";
import { writeAuditPolicy } from "./audit.ts";
import { startControllerManager } from "./controller-manager.ts";
import {
  type Identities,
  type Identity,
  newIdentities,
  type ServiceAccountName,
  writeKubeconfig,
  writeServiceAccountKey,
  writeTokenFile,
} from "./credentials.ts";
import { type Etcd, startEtcd } from "./etcd.ts";
import { startLateServer } from "./late-server.ts";
import { onFreePort } from "./start.ts";

/** Optional parts of a cluster besides etcd and the API server. */
export interface ClusterOptions {
  /** Garbage collection, rollouts, namespace deletion and default service accounts. */
  readonly controllerManager?: boolean;
  /**
   * Files or folders of manifests to install (kinds, roles, policies) before the controller manager starts.
   */
  readonly manifests?: readonly string[];
  /**
   * The service account of `LocalCluster.operator`; defaults to `operator` in the namespace
   * `operator-system`.
   */
  readonly operator?: ServiceAccountName;
  /** Records requests for `auditRequests`. */
  readonly audit?: boolean;
  /** Additional API server flags, such as `--watch-cache=false`. */
  readonly apiServerFlags?: readonly string[];
  /** Delays the responses of the API server. */
  readonly apiDelayMs?: number;
  /** Additional etcd flags, such as `--quota-backend-bytes` for large amounts of data. */
  readonly etcdFlags?: readonly string[];
}

/**
 * Starts a real Kubernetes API on loopback, with RBAC, in a few seconds. Several can run concurrently. It
 * ends with this process under all circumstances; `stop` ends it earlier.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<LocalCluster> {
  const binaries = await kubeBinaries();
  await using resources = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "kube-cluster-"));
  resources.defer(() => rm(dir, { recursive: true, force: true }));
  const identities = prepare(dir, options.operator);
  const etcd = await startEtcd(binaries.etcd, dir, options.etcdFlags);
  resources.defer(() => etcd.process.stop("SIGKILL"));
  const apiServer = await startApiServer({ binaries, dir, etcd, identities, options });
  resources.defer(() => apiServer.stop("SIGKILL"));
  const { apiDelayMs = 0 } = options;
  const late = apiDelayMs > 0 ? resources.use(await startLateServer(apiServer.url, apiDelayMs)) : undefined;
  const server = late?.url ?? apiServer.url;
  for (const identity of Object.values(identities) as Identity[])
    writeKubeconfig(identity, server, apiServerFiles(dir).ca);

  const connection: ClusterConnection = {
    server,
    caFile: apiServerFiles(dir).ca,
    admin: identities.admin,
    operator: identities.operator,
    replica: identities.replica,
    etcdUrl: etcd.url,
    kubectlBinary: binaries.kubectl,
    kubectlCacheDir: join(dir, "kubectl"),
    auditLog: options.audit ? apiServerFiles(dir).auditLog : undefined,
    controllers: options.controllerManager ?? false,
  };
  const access = new ClusterAccess(connection);
  if (options.manifests) await access.install(...options.manifests);
  if (options.controllerManager) {
    const { kubeconfig } = identities.controllerManager;
    const manager = await startControllerManager(binaries["kube-controller-manager"], dir, kubeconfig);
    resources.defer(() => manager.stop("SIGKILL"));
  }
  return new LocalCluster(connection, { etcd, apiServer, resources: resources.move() });
}

function prepare(dir: string, operator?: ServiceAccountName): Identities {
  const files = apiServerFiles(dir);
  const identities = newIdentities(dir, operator);
  writeTokenFile(files.tokens, identities);
  writeServiceAccountKey(files.serviceAccountKey);
  writeAuditPolicy(files.auditPolicy);
  return identities;
}

interface ApiServerNeeds {
  readonly binaries: KubeBinaries;
  readonly dir: string;
  readonly etcd: Etcd;
  readonly identities: Identities;
  readonly options: ClusterOptions;
}

async function startApiServer(needs: ApiServerNeeds): Promise<ApiServer> {
  const { binaries, dir, etcd, identities, options } = needs;
  return onFreePort(async (port) => {
    const server = new ApiServer({
      binary: binaries["kube-apiserver"],
      dir,
      port,
      etcdUrl: etcd.url,
      adminToken: identities.admin.token,
      requireServiceAccounts: options.controllerManager ?? false,
      audit: options.audit ?? false,
      extraFlags: options.apiServerFlags ?? [],
    });
    await server.start();
    return server;
  });
}

interface Running {
  readonly etcd: Etcd;
  readonly apiServer: ApiServer;
  readonly resources: AsyncDisposableStack;
}

/** A dedicated cluster: everything that `ClusterAccess` offers, and methods to break it. */
export class LocalCluster extends ClusterAccess {
  readonly #running: Running;

  /** Use `startCluster`. */
  constructor(connection: ClusterConnection, running: Running) {
    super(connection);
    this.#running = running;
  }

  /** The PID of the current API server process. */
  get apiServerPid(): number {
    return this.#running.apiServer.pid;
  }

  /** Stops the server, by default gracefully, so that clients see their connections closed in order. */
  async stopApiServer(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#running.apiServer.stop(signal);
  }

  /** Starts it again at the same address with the same data. */
  async startApiServer(): Promise<void> {
    await this.#running.apiServer.start();
  }

  /** Stops and starts the server; watches end and its watch cache is empty. */
  async restartApiServer(): Promise<void> {
    await this.stopApiServer();
    await this.startApiServer();
  }

  /** Freezes the server: connections stay open without responses. */
  pauseApiServer(): void {
    this.#running.apiServer.signal("SIGSTOP");
  }

  resumeApiServer(): void {
    this.#running.apiServer.signal("SIGCONT");
  }

  /** Freezes etcd: the API server runs, but every request that needs storage hangs. */
  pauseEtcd(): void {
    this.#running.etcd.process.signal("SIGSTOP");
  }

  resumeEtcd(): void {
    this.#running.etcd.process.signal("SIGCONT");
  }

  /** Stops all processes and removes all files; further calls do nothing. */
  async stop(): Promise<void> {
    await this.#running.resources.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
