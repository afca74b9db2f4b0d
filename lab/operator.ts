import {
  type Clock,
  createLogger,
  HttpClient,
  LeaderFence,
  Manager,
  type ManagerObserver,
  type ManagerOptions,
  type Random,
  systemClock,
  type Transport,
} from "kube-controller-runtime";
import {
  type ClusterAccess,
  type Deadline,
  eventually,
  type Fault,
  FaultyTransport,
  transportAs,
} from "kube-controller-runtime/testing";
import { CoderClients } from "../src/coder/clients.ts";
import type { Route } from "../src/coder/http/route.ts";
import { type OperatorAccess, operatorAccess } from "../src/coder/operator-access/access.ts";
import { DaemonObserver } from "../src/operator/coderd/daemons.ts";
import { controllers } from "../src/operator/controllers.ts";
import { ownershipMarks } from "../src/operator/names.ts";
import type { Tenancy } from "../src/operator/workload/rbac/tenancy.ts";

const FIELD_MANAGER = "coder-k8s";
const SYNC_MS = 30_000;

export interface OperatorOptions {
  /** As `--namespaces`: keeps operators of different tests in one cluster apart. The whole cluster when absent. */
  readonly namespaces?: readonly string[];
  /** How coderd is reached, as `--coderd-access`: straight to the URL of its Service when absent. */
  readonly coderdRoute?: Route;
  /** A fault that its requests to the API server meet from the start. */
  readonly fault?: Fault;
  /** What speaks to coderd, instead of clients that take this route. */
  readonly coderd?: CoderClients;
  /** As `--cluster-domain`: cluster.local when absent. */
  readonly clusterDomain?: string;
  /** Which controllers run: all of them when absent. */
  readonly controllers?: typeof controllers;
  /** As `--workspace-namespaces`, and the operator's own namespace: any and none when absent. */
  readonly tenancy?: Tenancy;
  /** Hears of a token that a deletion had to leave behind. */
  readonly tokenLeftBehind?: () => void;
  /** How coderd's databases are reached: with `pg` when absent. */
  readonly database?: OperatorAccess;
  /** The time by which it waits and judges. Requests keep to real time, so that a jump ends none of them. */
  readonly clock?: Clock;
  /** Receives what it reports about itself. */
  readonly observer?: ManagerObserver;
  /** The Lease that it waits for: it takes itself for the only one when absent. */
  readonly leaderElection?: ManagerOptions["leaderElection"];
}

/** One line of the operator's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** What an operator finds around it. */
export interface Surroundings {
  /** A way to the API server. */
  readonly transport: Transport;
  /** The time by which requests give up. */
  readonly requestClock: Clock;
  readonly random: Random;
  eventually<T>(assertion: () => T | Promise<T>, deadline: Deadline): Promise<T>;
  /** Resolves with what comes of the work, for which time passes. */
  finish<T>(work: Promise<T>): Promise<T>;
}

/**
 * The operator in this process, under the identity and the role it has in production. Returns once its
 * caches synced. All that it sends goes through a transport that can fail on demand.
 */
export async function startOperator(
  cluster: ClusterAccess,
  options: OperatorOptions = {},
): Promise<RunningOperator> {
  const transport = await transportAs(cluster.operator);
  const finish = <T>(work: Promise<T>) => work;
  return launchOperator(
    { transport, requestClock: systemClock, random: Math.random, eventually, finish },
    options,
  );
}

/** The same in any surroundings. */
export async function launchOperator(
  surroundings: Surroundings,
  options: OperatorOptions = {},
): Promise<RunningOperator> {
  const { requestClock, random } = surroundings;
  const transport = new FaultyTransport(surroundings.transport);
  transport.fault = options.fault;
  const { namespaces = [], coderdRoute: route, clock = requestClock, database, observer } = options;
  const { leaderElection } = options;
  const fence = new LeaderFence();
  const coderd =
    options.coderd ?? new CoderClients({ clock: requestClock, fence, ...(route ? { route } : {}) });
  const chosen = options.controllers ?? controllers;
  const lines: string[] = [];
  const manager = new Manager({
    client: new HttpClient({
      transport,
      clock: requestClock,
      fieldManager: FIELD_MANAGER,
      userAgent: FIELD_MANAGER,
    }),
    fence,
    clock,
    random,
    log: createLogger({ level: "debug", destination: { write: (line) => lines.push(line) } }),
    fieldManager: FIELD_MANAGER,
    marks: ownershipMarks,
    instance: `${FIELD_MANAGER}-under-test`,
    controllers: chosen(
      {
        coderd,
        database: database ?? operatorAccess({ clock, fence }),
        daemons: new DaemonObserver(clock),
        random,
        clusterDomain: options.clusterDomain ?? "cluster.local",
        ...(options.tokenLeftBehind ? { tokenLeftBehind: options.tokenLeftBehind } : {}),
      },
      options.tenancy,
    ),
    namespaces,
    concurrency: 16,
    shutdownGraceMs: 5_000,
    ...(observer ? { observer } : {}),
    ...(leaderElection ? { leaderElection } : {}),
  });
  const { finish } = surroundings;
  const operator = new RunningOperator({ manager, transport, coderd, lines, finish });
  await surroundings.eventually(() => operator.assertSynced(), { withinMs: SYNC_MS });
  return operator;
}

interface Parts {
  readonly manager: Manager;
  readonly transport: FaultyTransport;
  readonly coderd: CoderClients;
  readonly lines: readonly string[];
  readonly finish: Surroundings["finish"];
}

export class RunningOperator implements AsyncDisposable {
  /** Where a test makes requests to the API server fail. */
  readonly transport: FaultyTransport;
  readonly #parts: Parts;
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;

  /** Use `startOperator`. */
  constructor(parts: Parts) {
    this.#parts = parts;
    this.transport = parts.transport;
    this.#run = parts.manager.run(this.#stop.signal);
  }

  /** All that it has logged so far. */
  get log(): LogLine[] {
    return this.#parts.lines.map((line) => JSON.parse(line) as LogLine);
  }

  assertSynced(): void {
    const missing = this.#parts.manager.unsynced();
    if (missing.length > 0) throw new Error(`the operator waits for ${missing.join(", ")}`);
  }

  /** Ends it as SIGTERM would; further calls do nothing. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#parts.finish(this.#run);
    await Promise.all([this.#parts.coderd.close(), this.transport.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
