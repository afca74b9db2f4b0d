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
import { SharedAnswers } from "../src/operator/coderd/shared-answers.ts";
import { controllers } from "../src/operator/controllers.ts";
import { ownershipMarks } from "../src/operator/names.ts";
import type { Tenancy } from "../src/operator/workload/rbac/tenancy.ts";

const FIELD_MANAGER = "coder-k8s";
const SYNC_MS = 30_000;

export interface OperatorOptions {
  /**
   * Like `--namespaces`: separates operators of different tests in one cluster. Defaults to the whole
   * cluster.
   */
  readonly namespaces?: readonly string[];
  /** How to reach coderd, like `--coderd-access`; defaults to the URL of its Service. */
  readonly coderdRoute?: Route;
  /** A fault for its requests to the API server from the start. */
  readonly fault?: Fault;
  /** The clients of coderd, instead of ones that use this route. */
  readonly coderd?: CoderClients;
  /** Like `--cluster-domain`; defaults to cluster.local. */
  readonly clusterDomain?: string;
  /** The controllers to run; defaults to all. */
  readonly controllers?: typeof controllers;
  /** Like `--workspace-namespaces`, and the operator's own namespace; defaults to any and none. */
  readonly tenancy?: Tenancy;
  /** Called for a token that a deletion could not revoke. */
  readonly tokenOrphaned?: () => void;
  /** Receives each entity that a deletion left behind. */
  readonly entityOrphaned?: () => void;
  /** How to reach coderd's databases; defaults to `pg`. */
  readonly database?: OperatorAccess;
  /** The clock for waits and decisions. Requests use real time, so that they survive a jump. */
  readonly clock?: Clock;
  /** Receives the operator's observations. */
  readonly observer?: ManagerObserver;
  /** The Lease to acquire; absent, the operator assumes that it is the only one. */
  readonly leaderElection?: ManagerOptions["leaderElection"];
}

/** One line of the operator's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The environment of an operator. */
export interface OperatorEnvironment {
  /** The transport to the API server. */
  readonly transport: Transport;
  /** The clock for request timeouts. */
  readonly requestClock: Clock;
  readonly random: Random;
  eventually<T>(assertion: () => T | Promise<T>, deadline: Deadline): Promise<T>;
  /** Lets time pass until the work is done, and resolves with its result. */
  finish<T>(work: Promise<T>): Promise<T>;
}

/**
 * Starts the operator in this process, with its production identity and role. Resolves once its caches are
 * synced. All requests go through a transport that can fail on demand.
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

/** Starts the operator in any environment. */
export async function launchOperator(
  environment: OperatorEnvironment,
  options: OperatorOptions = {},
): Promise<RunningOperator> {
  const { requestClock, random } = environment;
  const transport = new FaultyTransport(environment.transport);
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
        answers: new SharedAnswers(clock),
        random,
        clusterDomain: options.clusterDomain ?? "cluster.local",
        ...(options.entityOrphaned ? { entityOrphaned: options.entityOrphaned } : {}),
        ...(options.tokenOrphaned ? { tokenOrphaned: options.tokenOrphaned } : {}),
      },
      options.tenancy,
    ),
    namespaces,
    concurrency: 16,
    shutdownGraceMs: 5_000,
    ...(observer ? { observer } : {}),
    ...(leaderElection ? { leaderElection } : {}),
  });
  const { finish } = environment;
  const operator = new RunningOperator({ manager, transport, coderd, lines, finish });
  await environment.eventually(() => operator.assertSynced(), { withinMs: SYNC_MS });
  return operator;
}

interface Parts {
  readonly manager: Manager;
  readonly transport: FaultyTransport;
  readonly coderd: CoderClients;
  readonly lines: readonly string[];
  readonly finish: OperatorEnvironment["finish"];
}

export class RunningOperator implements AsyncDisposable {
  /** Injects faults into requests to the API server. */
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

  /** The log so far. */
  get log(): LogLine[] {
    return this.#parts.lines.map((line) => JSON.parse(line) as LogLine);
  }

  assertSynced(): void {
    const missing = this.#parts.manager.unsynced();
    if (missing.length > 0) throw new Error(`the operator is waiting for ${missing.join(", ")}`);
  }

  /** Stops it like SIGTERM; further calls do nothing. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#parts.finish(this.#run);
    await Promise.all([this.#parts.coderd.close(), this.transport.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
