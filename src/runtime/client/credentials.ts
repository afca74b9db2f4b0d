import type { RequestOptions } from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { KubeConfig } from "@kubernetes/client-node";
import { type Clock, systemClock } from "../clock.ts";

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
  /** Of the moment; another value after a refresh that found other certificates. */
  readonly tls: TlsOptions;
  /** The authorization headers of the moment; asks exec plugins and token files again as they expire. */
  headers(): Promise<Record<string, string>>;
  /** Reads everything anew: files, exec plugins, certificates. Calls at the same time share one reading. */
  refresh(): Promise<void>;
}

interface Identity {
  readonly config: KubeConfig;
  readonly tls: TlsOptions;
  readonly headers: Record<string, string>;
}

export interface CredentialsSource {
  /** A kubeconfig file; when absent `KUBECONFIG`, `~/.kube/config` and the service account, as kubectl does. */
  readonly kubeconfig?: string | undefined;
}

/**
 * Loads credentials in the usual order: the named kubeconfig, `KUBECONFIG`, the in-cluster service
 * account, `~/.kube/config`. Throws with what to set when there is no usable cluster.
 */
export async function loadCredentials(
  source: CredentialsSource = {},
  clock: Clock = systemClock,
): Promise<Credentials> {
  const config = await loadKubeConfig(source);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error("no Kubernetes cluster is configured: set --kubeconfig or KUBECONFIG");
  const url = new URL(cluster.server);
  let current: Identity = { ...(await identityOf(config)), config };
  let readAt = clock.monotonic();

  async function read(from: KubeConfig): Promise<void> {
    readAt = clock.monotonic();
    const { tls, headers } = await identityOf(from);
    current = { config: from, headers, tls: isDeepStrictEqual(tls, current.tls) ? current.tls : tls };
  }
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/$/, ""),
    get tls() {
      return current.tls;
    },
    headers: async () => {
      if (clock.monotonic() - readAt > HEADERS_REUSED_MS) await read(current.config);
      return current.headers;
    },
    refresh: shared(async () => read(await loadKubeConfig(source))),
  };
}

/** Work that is under way is not begun a second time: whoever asks meanwhile gets its result. */
function shared(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
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

async function identityOf(config: KubeConfig): Promise<Pick<Identity, "tls" | "headers">> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    tls: {
      ...(ca ? { ca } : {}),
      ...(cert ? { cert } : {}),
      ...(key ? { key } : {}),
      ...(servername ? { servername } : {}),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    },
    headers: authorization(options),
  };
}

function authorization(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  // Files that people write by hand end with a newline, which no header may contain.
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value).trim();
  if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return headers;
}
