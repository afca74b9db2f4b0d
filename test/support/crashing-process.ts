import type { TransportRequest } from "kube-controller-runtime";
import { type Fault, neverAnswers } from "kube-controller-runtime/testing";
import type { OperatorAccess } from "../../src/coder/operator-access/access.ts";

/** The effect after which a process dies. */
export interface LastAct {
  /** A transaction that the database has committed, or that ends with the process, and which of all it is. */
  readonly transaction?: "committed" | "rolledBack";
  readonly nth?: number;
  /** A request that the API server has answered. */
  readonly request?: (request: TransportRequest) => boolean;
}

/**
 * The process of an operator that runs in this process and is to die as one that is killed: its last act takes
 * effect, but it never hears of it, and nothing that it does afterwards leaves it.
 */
export class CrashingProcess {
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  ended = false;
  readonly #lastAct: LastAct;
  readonly #resolve: () => void;
  #transactions = 0;

  constructor(lastAct: LastAct = {}) {
    this.#lastAct = lastAct;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#resolve = resolve;
  }

  end(): void {
    this.ended = true;
    this.#resolve();
  }

  /** For the transport to the API server. */
  readonly fault: Fault = async (request, pass) => {
    if (this.ended) return neverAnswers(request, pass);
    const response = await pass();
    if (this.#lastAct.request?.(request)) this.end();
    return this.ended && !request.streaming ? neverAnswers(request, pass) : response;
  };

  /** The way to databases while it lasts. */
  through(access: OperatorAccess): OperatorAccess {
    return {
      ensureToken: (...call) => this.#transact(() => access.ensureToken(...call)),
      revokeToken: (...call) => this.#transact(() => access.revokeToken(...call)),
      look: (target, tokenNames) => access.look(target, tokenNames),
    };
  }

  async #transact<T>(work: () => Promise<T>): Promise<T> {
    const { transaction, nth = 1 } = this.#lastAct;
    const isLast = transaction !== undefined && ++this.#transactions === nth;
    if (isLast && transaction === "rolledBack") this.end();
    if (this.ended) return silence();
    const result = await work();
    if (isLast) this.end();
    return this.ended ? silence() : result;
  }
}

function silence<T>(): Promise<T> {
  return new Promise(() => {});
}
