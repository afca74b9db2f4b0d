import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "kube-controller-runtime";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import type { Role } from "./incidents.ts";
import { COLLECTED, type Memory } from "./operator/memory.ts";

/** How long a Deployment takes to see that a pod ended and to start it again. */
const RESTART_MS = 1_000;
const POLL_MS = 50;
const COLLECTION_MS = 10_000;

interface ReplicasOptions {
  readonly count: number;
  readonly start: () => Promise<OperatorProcess>;
  readonly report: (line: string) => void;
}

/** The processes of the operator. One that ends is started again; what it wrote is kept. */
export class Replicas implements AsyncDisposable {
  readonly #options: ReplicasOptions;
  readonly #slots: (OperatorProcess | undefined)[] = [];
  /** All there ever were. */
  readonly #started: OperatorProcess[] = [];
  readonly #failures: string[] = [];
  readonly #stop = new AbortController();
  readonly #lives: Promise<void>[];

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#lives = Array.from({ length: options.count }, (_, slot) => this.#live(slot));
  }

  /** Those that run and are ready, or were once. */
  get running(): OperatorProcess[] {
    return this.#slots.filter((operator) => operator?.program.running).filter((operator) => !!operator);
  }

  /** What each process wrote, the dead included, and what those said that did not even start. */
  get outputs(): string[] {
    return [...this.#started.map((operator) => operator.output), ...this.#failures];
  }

  /** The current holder of the role, or any running process if there is none. */
  find(role: Role): OperatorProcess | undefined {
    const { running } = this;
    return running.find(({ isLeader }) => isLeader === (role === "leader")) ?? running[0];
  }

  /** The used memory of the process after a garbage collection. */
  async memoryOf(operator: OperatorProcess): Promise<Memory> {
    const count = () => operator.log.filter(({ msg }) => msg === COLLECTED).length;
    const before = count();
    operator.program.signal("SIGWINCH");
    for (const deadline = performance.now() + COLLECTION_MS; performance.now() < deadline; ) {
      if (count() > before) break;
      await sleep(POLL_MS);
    }
    const line = operator.log.findLast(({ msg }) => msg === COLLECTED);
    return { heapMB: Number(line?.heapMB), residentMB: Number(line?.residentMB) };
  }

  /** Ends all of them for good, politely, and keeps what they wrote until this is disposed. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.running.map((operator) => operator.stop("SIGTERM")));
    await Promise.all(this.#lives);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await Promise.all(this.#started.map((operator) => operator[Symbol.asyncDispose]()));
  }

  async #live(slot: number): Promise<void> {
    const { signal } = this.#stop;
    const name = `replica ${slot + 1}`;
    while (!signal.aborted) {
      const operator = await this.#start(name);
      this.#slots[slot] = operator;
      if (operator) await this.#attend(operator, name);
      await sleep(RESTART_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #attend(operator: OperatorProcess, name: string): Promise<void> {
    const { report } = this.#options;
    report(`operator: ${name} runs (pid ${operator.program.pid})`);
    if (this.#stop.signal.aborted) await operator.stop("SIGTERM");
    await operator.program.ended;
    const { exitCode } = operator.program;
    const how = exitCode === undefined ? "was killed" : `ended with ${exitCode}`;
    report(`operator: ${name} (pid ${operator.program.pid}) ${how}`);
  }

  /** A process that can't start, because the API server is away for instance, is not the end. */
  async #start(name: string): Promise<OperatorProcess | undefined> {
    try {
      const operator = await this.#options.start();
      this.#started.push(operator);
      return operator;
    } catch (error) {
      this.#failures.push(messageOf(error));
      this.#options.report(`operator: ${name} did not start`);
      return undefined;
    }
  }
}
