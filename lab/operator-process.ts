import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ClusterAccess, onFreePort, Supervised, untilReady } from "kube-controller-runtime/testing";
import type { LogLine } from "./operator.ts";

const SOURCES = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/**
 * Leases for which the permission was already granted: fault tests start operators while the API server is
 * down.
 */
const leaseGrants = new Set<string>();

const LEASE_FLAG = "--leader-election-namespace=";

/**
 * Starts the operator like a user, `coder-k8s controller` in a separate process with its own identity.
 * `flags` follow the common ones; `entry` is the file that Node.js runs, after its own flags. Resolves once it is ready.
 */
export async function startOperatorProcess(
  cluster: ClusterAccess,
  flags: readonly string[],
  entry: string | readonly string[] = SOURCES,
): Promise<OperatorProcess> {
  const dir = await mkdtemp(join(tmpdir(), "coder-k8s-operator-"));
  await grantLease(cluster, flags);
  const starting = onFreePort((probes) =>
    onFreePort(async (metrics) => {
      const ports = { probes, metrics };
      const operator = new OperatorProcess(spawn(cluster, { dir, ports, entry, flags }), { dir, ports });
      await untilReady(operator.program, () => operator.isReady());
      return operator;
    }),
  );
  return starting.catch(async (error) => {
    await rm(dir, { recursive: true, force: true });
    throw error;
  });
}

/** The operator's role only grants access to a Lease in its own namespace; tests use other namespaces. */
async function grantLease(cluster: ClusterAccess, flags: readonly string[]): Promise<void> {
  if (flags.includes("--no-leader-elect")) return;
  const given = flags.find((flag) => flag.startsWith(LEASE_FLAG))?.slice(LEASE_FLAG.length);
  const namespace = given ?? "kube-system";
  const place = `${cluster.server} ${namespace}`;
  if (leaseGrants.has(place)) return;
  leaseGrants.add(place);
  const [apiVersion, metadata] = ["rbac.authorization.k8s.io/v1", { name: "coder-k8s-lease", namespace }];
  const [apiGroup, users] = ["rbac.authorization.k8s.io", [cluster.operator.user, cluster.replica.user]];
  await cluster.apply({
    apiVersion: "v1",
    kind: "List",
    items: [
      {
        apiVersion,
        kind: "Role",
        metadata,
        rules: [
          { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "patch"] },
        ],
      },
      {
        apiVersion,
        kind: "RoleBinding",
        metadata,
        roleRef: { apiGroup, kind: "Role", name: metadata.name },
        subjects: users.map((name) => ({ apiGroup, kind: "User", name })),
      },
    ],
  });
}

interface Place {
  readonly dir: string;
  readonly ports: { readonly probes: number; readonly metrics: number };
}

function spawn(
  cluster: ClusterAccess,
  { dir, ports, entry, flags }: Place & { entry: string | readonly string[]; flags: readonly string[] },
): Supervised {
  return new Supervised({
    command: process.execPath,
    args: [
      ...[entry].flat(),
      "controller",
      `--kubeconfig=${cluster.operator.kubeconfig}`,
      `--health-probe-bind-address=127.0.0.1:${ports.probes}`,
      `--metrics-bind-address=127.0.0.1:${ports.metrics}`,
      ...flags,
    ],
    logFile: logFileIn(dir),
    scratch: dir,
  });
}

function logFileIn(dir: string): string {
  return join(dir, "log");
}

export class OperatorProcess implements AsyncDisposable {
  readonly program: Supervised;
  readonly #place: Place;

  /** Use `startOperatorProcess`. */
  constructor(program: Supervised, place: Place) {
    this.program = program;
    this.#place = place;
  }

  /** The log file, which is removed on disposal. */
  get logFile(): string {
    return logFileIn(this.#place.dir);
  }

  /** All output so far. */
  get output(): string {
    return readFileSync(this.logFile, "utf8");
  }

  /** The parsed log so far; lines that are not JSON do not come from its logger. */
  get log(): LogLine[] {
    const lines = this.output.split("\n");
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as LogLine);
  }

  /** `host:port` of its metrics. */
  get metricsAddress(): string {
    return `127.0.0.1:${this.#place.ports.metrics}`;
  }

  get isLeader(): boolean {
    return this.log.some(({ msg }) => msg.startsWith("became leader"));
  }

  async isReady(): Promise<boolean> {
    return (await this.#fetch("probes", "/readyz")).ok;
  }

  async metrics(): Promise<string> {
    return (await this.#fetch("metrics", "/metrics")).text();
  }

  /** Ends it with the signal; resolves once it has ended. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    await this.program.stop(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    await rm(this.#place.dir, { recursive: true, force: true });
  }

  #fetch(server: keyof Place["ports"], path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#place.ports[server]}${path}`);
  }
}
