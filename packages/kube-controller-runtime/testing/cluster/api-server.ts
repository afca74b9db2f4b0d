import { join } from "node:path";
import { apiRequest } from "./api-request.ts";
import { untilReady } from "./start.ts";
import { Supervised } from "./supervised.ts";

/** The configuration of the API server; the same value restarts the same server. */
export interface ApiServerConfig {
  readonly binary: string;
  readonly dir: string;
  readonly port: number;
  readonly etcdUrl: string;
  readonly adminToken: string;
  /** Without a controller manager, the service accounts that this plugin requires do not exist. */
  readonly requireServiceAccounts: boolean;
  readonly audit: boolean;
  readonly extraFlags: readonly string[];
}

/** Files of the API server in its folder. */
export function apiServerFiles(dir: string) {
  return {
    tokens: join(dir, "tokens.csv"),
    serviceAccountKey: join(dir, "service-account.key"),
    certificates: join(dir, "certificates"),
    // The self-generated certificate file includes its issuer.
    ca: join(dir, "certificates", "apiserver.crt"),
    auditPolicy: join(dir, "audit-policy.json"),
    auditLog: join(dir, "audit.log"),
    log: join(dir, "kube-apiserver.log"),
  };
}

/** An API server that can be stopped and restarted on the same port with the same data. */
export class ApiServer {
  readonly #config: ApiServerConfig;
  #process: Supervised | undefined;

  constructor(config: ApiServerConfig) {
    this.#config = config;
  }

  get url(): string {
    return serverUrl(this.#config.port);
  }

  get pid(): number {
    if (!this.#process) throw new Error("the API server was not started");
    return this.#process.pid;
  }

  /** Resolves when the server is ready, including the RBAC bootstrap. */
  async start(): Promise<void> {
    const { binary, dir } = this.#config;
    const started = new Supervised({
      command: binary,
      args: flags(this.#config),
      logFile: apiServerFiles(dir).log,
      scratch: dir,
    });
    await untilReady(started, () => isReady(this.#config));
    this.#process = started;
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.#process?.stop(signal);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.signal(signal);
  }
}

function flags(config: ApiServerConfig): string[] {
  const files = apiServerFiles(config.dir);
  return [
    `--etcd-servers=${config.etcdUrl}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${config.port}`,
    `--cert-dir=${files.certificates}`,
    `--token-auth-file=${files.tokens}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.96.0.0/12",
    "--endpoint-reconciler-type=none",
    "--profiling=false",
    // Otherwise open watches delay a graceful shutdown for a minute.
    "--shutdown-watch-termination-grace-period=2s",
    ...(config.requireServiceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    ...auditFlags(config),
    ...config.extraFlags,
  ];
}

function auditFlags({ audit, dir }: ApiServerConfig): string[] {
  if (!audit) return [];
  const { auditPolicy, auditLog } = apiServerFiles(dir);
  // A rotated log would lose the oldest requests.
  const neverRotate = "--audit-log-maxsize=100000";
  return [`--audit-policy-file=${auditPolicy}`, `--audit-log-path=${auditLog}`, neverRotate];
}

/** Trusting only its own certificate distinguishes this server from another that took the port first. */
async function isReady({ dir, port, adminToken }: ApiServerConfig): Promise<boolean> {
  const endpoint = { server: serverUrl(port), caFile: apiServerFiles(dir).ca, token: adminToken };
  return (await apiRequest(endpoint, { method: "GET", path: "/readyz" })).status === 200;
}

function serverUrl(port: number): string {
  return `https://127.0.0.1:${port}`;
}
