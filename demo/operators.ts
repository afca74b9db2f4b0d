import { messageOf, systemClock } from "kube-controller-runtime";
import type { OperatorProcess } from "../lab/operator-process.ts";

/** How long a replica stays down after it ended, so that the failover is visible. */
const RESTART_MS = 3_000;

export interface Replica {
  readonly number: number;
  readonly pid: number;
  readonly leads: boolean;
  readonly logFile: string;
  readonly metricsAddress: string;
}

/**
 * Several processes of the operator, one of which leads. A process that ends is restarted, like in a
 * Deployment.
 */
export class Operators implements AsyncDisposable {
  readonly #processes: (OperatorProcess | undefined)[];
  readonly #start: () => Promise<OperatorProcess>;
  readonly #report: (line: string) => void;
  readonly #stop = new AbortController();
  readonly #supervising: Promise<void>[];

  private constructor(
    processes: readonly OperatorProcess[],
    { start, report }: { start: () => Promise<OperatorProcess>; report: (line: string) => void },
  ) {
    this.#processes = [...processes];
    this.#start = start;
    this.#report = report;
    this.#supervising = processes.map((_, index) => this.#supervise(index));
  }

  /** Resolves once all of them are ready. */
  static async start(
    count: number,
    start: () => Promise<OperatorProcess>,
    report: (line: string) => void,
  ): Promise<Operators> {
    const starting = await Promise.allSettled(Array.from({ length: count }, start));
    const processes = starting.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failed = starting.find((result) => result.status === "rejected");
    if (!failed) return new Operators(processes, { start, report });
    await Promise.all(processes.map((operator) => operator[Symbol.asyncDispose]()));
    throw failed.reason;
  }

  /** The running replicas. */
  get replicas(): Replica[] {
    return this.#processes.flatMap((operator, index) =>
      operator?.program.running
        ? [
            {
              number: index + 1,
              pid: operator.program.pid,
              leads: operator.isLeader,
              logFile: operator.logFile,
              metricsAddress: operator.metricsAddress,
            },
          ]
        : [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#processes.map((operator) => operator?.[Symbol.asyncDispose]()));
    await Promise.all(this.#supervising);
  }

  async #supervise(index: number): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const operator = this.#processes[index];
      await operator?.program.ended;
      if (signal.aborted) return;
      await operator?.[Symbol.asyncDispose]();
      this.#processes[index] = undefined;
      if (operator) this.#report(`operator replica ${index + 1} (pid ${operator.program.pid}) ended`);
      await systemClock.sleep(RESTART_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.#restart(index);
    }
  }

  async #restart(index: number): Promise<void> {
    try {
      const operator = await this.#start();
      this.#processes[index] = operator;
      if (this.#stop.signal.aborted) return operator[Symbol.asyncDispose]();
      this.#report(`operator replica ${index + 1} (pid ${operator.program.pid}) is back`);
    } catch (error) {
      this.#report(`operator replica ${index + 1} failed to start: ${messageOf(error)}`);
    }
  }
}
