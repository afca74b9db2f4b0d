import { hostname } from "node:os";
import {
  type Client,
  candidateIdentity,
  createLogger,
  HttpClient,
  type HttpClientOptions,
  type HttpServer,
  httpTransport,
  LeaderFence,
  loadCredentials,
  Manager,
  type ManagerOptions,
  serveMetrics,
  serveProbes,
  systemClock,
  type Transport,
} from "kube-controller-runtime";
import { CoderClients } from "../coder/clients.ts";
import { operatorAccess } from "../coder/operator-access/access.ts";
import type { Tenancy } from "../operator/control-plane/tenancy.ts";
import { controllers } from "../operator/controllers.ts";
import { OperatorMetrics } from "../operator/metrics/metrics.ts";
import { ownershipMarks } from "../operator/names.ts";
import { coderdRoute } from "./coderd-route.ts";
import { leaseNamespace } from "./lease-namespace.ts";
import type { ControllerOptions } from "./options.ts";

const FIELD_MANAGER = "coder-k8s";
/**
 * A renewal must not arrive when nobody waits for it any more, and a server that asks for a long pause must not cost
 * the leadership: the next attempt comes two seconds later at most.
 */
const RENEWAL_LIMITS = { timeoutMs: 5_000, longestPauseMs: 2_000 };
const LEASE_NAME = "coder-k8s-controller.coder.com";

export interface ProcessEnvironment {
  readonly version: string;
  readonly podNamespace: string | undefined;
  /** Aborted by SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
}

/**
 * Runs the operator until the signal is aborted. HTTP comes up first, so that probes can report what is
 * missing, and goes down last. Rejects when leadership is lost or the process can't start.
 */
export async function runController(
  options: ControllerOptions,
  environment: ProcessEnvironment,
): Promise<void> {
  const log = createLogger({ level: options.logLevel, format: options.logFormat });
  const metrics = new OperatorMetrics({ clock: systemClock });
  const credentials = await loadCredentials(options);
  const [work, renewal] = [httpTransport(credentials), httpTransport(credentials)];
  const fence = new LeaderFence();
  fence.signal.addEventListener("abort", () => void work.close(), { once: true });
  const coderd = new CoderClients({
    clock: systemClock,
    fence,
    route: coderdRoute(options.coderdAccess, credentials),
    observer: metrics.coderd,
  });
  const database = operatorAccess({ clock: systemClock, fence });
  const client = (
    transport: Transport,
    limits: Pick<HttpClientOptions, "timeoutMs" | "longestPauseMs"> = {},
  ) =>
    new HttpClient({
      ...limits,
      transport,
      clock: systemClock,
      fieldManager: FIELD_MANAGER,
      userAgent: `${FIELD_MANAGER}/${environment.version}`,
      onRequest: (request) => metrics.requested(request),
    });
  const manager = new Manager({
    ...(await identity(options, environment, client(renewal, RENEWAL_LIMITS))),
    client: client(work),
    fence,
    clock: systemClock,
    random: Math.random,
    log,
    fieldManager: FIELD_MANAGER,
    marks: ownershipMarks,
    controllers: controllers(
      { coderd, database, random: Math.random, tokenLeftBehind: () => metrics.tokenLeftBehind() },
      await tenancy(options, environment),
    ),
    namespaces: options.namespaces,
    concurrency: options.concurrency,
    shutdownGraceMs: options.shutdownGraceSeconds * 1_000,
    observer: metrics,
  });
  const servers = await serve(options, { manager, metrics });
  log.info("operator starts", { version: environment.version });
  try {
    await manager.run(environment.signal);
    log.info("operator stopped");
  } finally {
    await Promise.all(servers.map((server) => server?.close()));
    await Promise.all([coderd.close(), work.close(), renewal.close()]);
  }
}

async function identity(
  options: ControllerOptions,
  { podNamespace }: ProcessEnvironment,
  client: Client,
): Promise<Pick<ManagerOptions, "instance" | "leaderElection">> {
  const instance = candidateIdentity(FIELD_MANAGER, hostname());
  if (!options.leaderElect) return { instance };
  const namespace = options.leaderElectionNamespace ?? (await leaseNamespace(podNamespace));
  const lease = { namespace, name: LEASE_NAME };
  return { instance, leaderElection: { lease, identity: instance, client } };
}

/** The operator's namespace is the one that the pod is in, wherever its Lease may be. */
async function tenancy(
  { workspaceNamespaces }: ControllerOptions,
  { podNamespace }: ProcessEnvironment,
): Promise<Tenancy> {
  return { operatorNamespace: await leaseNamespace(podNamespace), workspaceNamespaces };
}

function serve(
  options: ControllerOptions,
  { manager, metrics }: { manager: Manager; metrics: OperatorMetrics },
): Promise<(HttpServer | undefined)[]> {
  return Promise.all([
    serveProbes({
      address: options.healthProbeBindAddress,
      clock: systemClock,
      healthz: { ping: () => true },
      readyz: { caches: () => areSynced(manager) },
    }),
    serveMetrics({ address: options.metricsBindAddress, registry: metrics.registry }),
  ]);
}

function areSynced(manager: Manager): boolean {
  const missing = manager.unsynced();
  if (missing.length > 0) throw new Error(`waiting for ${missing.join(", ")}`);
  return true;
}
