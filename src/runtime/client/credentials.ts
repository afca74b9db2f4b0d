import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";

/** KubeConfig reads files each time it is asked; a 401 refreshes at once, so a short reuse is safe. */
const HEADERS_REUSED_MS = 10_000;

export interface TlsOptions {
  readonly ca?: RequestOptions["ca"];
  readonly cert?: RequestOptions["cert"];
  readonly key?: RequestOptions["key"];
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Where the API server is and how we prove who we are. */
export interface Credentials {
  readonly origin: string;
  /** Non-empty when the API server is served below a path, as by Rancher. */
  readonly pathPrefix: string;
  readonly tls: TlsOptions;
  /** The authorization headers of the moment; asks exec plugins and token files again as they expire. */
  headers(): Promise<Record<string, string>>;
  /** Forgets what was cached. Resolves `true` when the next `headers()` may differ. */
  refresh(): Promise<boolean>;
}

export interface CredentialsSource {
  /** A kubeconfig file; when absent `KUBECONFIG`, `~/.kube/config` and the service account, as kubectl does. */
  readonly kubeconfig?: string | undefined;
}

/**
 * Loads credentials in the usual order: the named kubeconfig, `KUBECONFIG`, the in-cluster service
 * account, `~/.kube/config`. Throws with what to set when there is no usable cluster.
 */
export async function loadCredentials(source: CredentialsSource = {}): Promise<Credentials> {
  const config = await loadKubeConfig(source);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error("no Kubernetes cluster is configured: set --kubeconfig or KUBECONFIG");
  const url = new URL(cluster.server);
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/$/, ""),
    tls: await tlsOptions(config),
    ...(await authorization(config, () => loadKubeConfig(source))),
  };
}

async function authorization(
  initial: KubeConfig,
  reload: () => Promise<KubeConfig>,
): Promise<Pick<Credentials, "headers" | "refresh">> {
  let config = initial;
  let current = await authHeaders(config);
  let readAt = performance.now();
  return {
    headers: async () => {
      if (performance.now() - readAt > HEADERS_REUSED_MS) {
        readAt = performance.now();
        current = await authHeaders(config);
      }
      return current;
    },
    refresh: async () => {
      const before = current.Authorization;
      config = await reload();
      current = await authHeaders(config);
      return current.Authorization !== before;
    },
  };
}

async function loadKubeConfig(source: CredentialsSource): Promise<KubeConfig> {
  // The package's index would load its whole generated client: tens of megabytes that we never use.
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  if (source.kubeconfig) config.loadFromFile(source.kubeconfig);
  else if (!process.env.KUBECONFIG && process.env.KUBERNETES_SERVICE_HOST) config.loadFromCluster();
  else config.loadFromDefault();
  return config;
}

async function tlsOptions(config: KubeConfig): Promise<TlsOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(servername ? { servername } : {}),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
}

async function authHeaders(config: KubeConfig): Promise<Record<string, string>> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value);
  if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return headers;
}
