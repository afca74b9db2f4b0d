import { hostname } from "node:os";
import { type Authorize, reviewAccess } from "./access-review.ts";
import { type Credentials, loadCredentials } from "./client/credentials.ts";
import { type FinishedRequest, HttpClient, type HttpClientOptions } from "./client/http-client.ts";
import { httpTransport, type Transport } from "./client/transport.ts";
import { systemClock } from "./clock.ts";
import type { Controller } from "./controller/controller.ts";
import type { OwnershipMarks } from "./controller/ownership.ts";
import { type Fence, LeaderFence } from "./fence.ts";
import { type HttpServer, serveMetrics, serveProbes } from "./http.ts";
import { candidateIdentity } from "./leader/lease.ts";
import { ownNamespace } from "./leader/own-namespace.ts";
import type { Logger } from "./log.ts";
import { createLogger } from "./logging.ts";
import { Manager, type ManagerObserver, type ManagerOptions } from "./manager.ts";

/**
 * Observes the manager and its requests, and provides metrics: for example, `RuntimeMetrics` of the entry
 * `prometheus`.
 */
export interface Metrics extends ManagerObserver {
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  requested(request: FinishedRequest): void;
}

/** The environment for controllers that access other systems than the API server. */
export interface OperatorEnvironment {
  /** Guards every other external request: see `Fence`. */
  readonly fence: Fence;
  readonly credentials: Credentials;
  readonly log: Logger;
}

/** The options of `runOperator`; only the first three are required. */
export interface OperatorOptions {
  /** The field manager, the reporter of events, the user agent and the name of the Lease. Never change it. */
  readonly name: string;
  /** The annotations that mark children, or their domain: `example.com`. Never change them. */
  readonly marks: OwnershipMarks | string;
  readonly controllers:
    | readonly Controller[]
    | ((environment: OperatorEnvironment) => readonly Controller[] | Promise<readonly Controller[]>);
  /** For the user agent and the log. */
  readonly version?: string;
  /** Defaults to `KUBECONFIG`, the pod's service account, `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** Namespaces to work in; defaults to the whole cluster. */
  readonly namespaces?: readonly string[];
  /** Number of concurrent runs of a controller without its own limit; defaults to 10. */
  readonly concurrency?: number;
  /** The Lease; defaults to `name` in the pod's namespace. Use `false` only with a single replica. */
  readonly leaderElection?: false | { readonly name?: string; readonly namespace?: string | undefined };
  /** Defaults to `:8081`; `0` disables probes. */
  readonly probeAddress?: string;
  /** Defaults to no metrics. */
  readonly metrics?: Metrics;
  /** Where `metrics` are served; defaults to `:8080`, `0` disables it. */
  readonly metricsAddress?: string;
  /**
   * Whether a scraper must authenticate with a bearer token and be allowed to `get` the non-resource URL
   * `/metrics`; for the required permissions, see `accessReviewRules`. By default, everyone may scrape.
   */
  readonly metricsAuth?: boolean;
  /** Defaults to one JSON object per line on standard output. */
  readonly log?: Logger;
  /** How long active runs may continue after the signal; defaults to 20 seconds. */
  readonly shutdownGraceMs?: number;
  /** Stops the operator; defaults to SIGTERM and SIGINT. */
  readonly signal?: AbortSignal;
}

/**
 * A renewal must not arrive after its deadline, and a server that asks for a long pause must not cost the
 * leadership: the next attempt follows after at most two seconds.
 */
const URGENT_LIMITS = { timeoutMs: 5_000, maxPauseMs: 2_000 };

/**
 * Runs an operator until SIGTERM or SIGINT: credentials like kubectl, leader election, `/healthz`, `/readyz`,
 * `/metrics`, a structured log, and a graceful shutdown. HTTP starts first, so that probes report what is
 * missing, and stops last. Rejects if leadership is lost or the process can't start: exit the process then.
 */
export async function runOperator(options: OperatorOptions): Promise<void> {
  const { name, version = "0", metrics, controllers, log = createLogger({ level: "info" }) } = options;
  const credentials = await loadCredentials({ kubeconfig: options.kubeconfig });
  await using resources = new AsyncDisposableStack();
  const open = () => resources.adopt(httpTransport(credentials), (transport) => transport.close());
  const [work, urgent] = [open(), open()];
  const fence = new LeaderFence();
  fence.signal.addEventListener("abort", () => void work.close(), { once: true });
  const { client, urgentClient } = clientsOf(options, { work, urgent });
  const environment = { fence, credentials, log };
  const manager = new Manager({
    ...(await leadership(options, urgentClient())),
    client,
    fence,
    clock: systemClock,
    random: Math.random,
    log,
    fieldManager: name,
    marks: marksOf(options.marks),
    controllers: typeof controllers === "function" ? await controllers(environment) : controllers,
    namespaces: options.namespaces ?? [],
    concurrency: options.concurrency ?? 10,
    shutdownGraceMs: options.shutdownGraceMs ?? 20_000,
    ...(metrics ? { observer: metrics } : {}),
  });
  const authorize = options.metricsAuth ? reviewAccess(urgentClient(), systemClock) : undefined;
  for (const server of await serve(options, { manager, authorize }))
    if (server) resources.adopt(server, (it) => it.close());
  const stop = options.signal ?? processSignals(resources);
  log.info("starting operator", { version });
  await manager.run(stop);
  log.info("operator stopped");
}

/** The main client, and clients for urgent requests, with their own connections and pauses. */
function clientsOf(
  { name, version = "0", metrics }: OperatorOptions,
  { work, urgent }: { readonly work: Transport; readonly urgent: Transport },
) {
  const common: Omit<HttpClientOptions, "transport"> = {
    clock: systemClock,
    fieldManager: name,
    userAgent: `${name}/${version}`,
    onRequest: (request) => metrics?.requested(request),
  };
  return {
    client: new HttpClient({ ...common, transport: work }),
    urgentClient: () => new HttpClient({ ...common, ...URGENT_LIMITS, transport: urgent }),
  };
}

function marksOf(marks: OwnershipMarks | string): OwnershipMarks {
  if (typeof marks !== "string") return marks;
  return { handOver: `${marks}/adopt-by`, ownerUid: `${marks}/owner-uid`, applied: `${marks}/applied-hash` };
}

async function leadership(
  { name, leaderElection = {} }: OperatorOptions,
  client: HttpClient,
): Promise<Pick<ManagerOptions, "instance" | "leaderElection">> {
  const instance = candidateIdentity(name, hostname());
  if (!leaderElection) return { instance };
  const namespace = leaderElection.namespace ?? (await ownNamespace());
  const lease = { namespace, name: leaderElection.name ?? name };
  return { instance, leaderElection: { lease, identity: instance, client } };
}

function serve(
  options: OperatorOptions,
  { manager, authorize }: { manager: Manager; authorize: Authorize | undefined },
): Promise<(HttpServer | undefined)[]> {
  const { probeAddress = ":8081", metricsAddress = ":8080", metrics } = options;
  return Promise.all([
    serveProbes({
      address: probeAddress,
      clock: systemClock,
      healthz: { ping: () => true },
      readyz: { caches: () => areSynced(manager) },
    }),
    metrics && serveMetrics({ address: metricsAddress, registry: metrics.registry, authorize }),
  ]);
}

function areSynced(manager: Manager): boolean {
  const missing = manager.unsynced();
  if (missing.length > 0) throw new Error(`waiting for ${missing.join(", ")}`);
  return true;
}

/** Aborted by SIGTERM and SIGINT. A second signal ends the process at once. */
function processSignals(resources: AsyncDisposableStack): AbortSignal {
  const stop = new AbortController();
  const abort = () => stop.abort();
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.once(signal, abort);
    resources.defer(() => void process.off(signal, abort));
  }
  return stop.signal;
}
