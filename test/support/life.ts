import { type Connect, connectPostgres } from "../../src/coder/operator-access/session.ts";
import type { TransportRequest } from "../../src/runtime/client/transport.ts";
import { type Fault, neverAnswers } from "./faulty-transport.ts";

/** The effect after which a process dies. */
export interface LastAct {
  /** A statement that the database has carried out, and which of those that match it is. */
  readonly statement?: RegExp;
  readonly nth?: number;
  /** A request that the API server has answered. */
  readonly request?: (request: TransportRequest) => boolean;
}

/**
 * The life of an operator that runs in this process and is to die as one that is killed: its last act takes
 * effect, but it never hears of it, nothing that it does afterwards leaves it, and its database connections break.
 */
export class Life {
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  readonly #lastAct: LastAct;
  readonly #sessions = new Set<() => Promise<void>>();
  readonly #resolve: () => void;
  #ended = false;
  #matches = 0;

  constructor(lastAct: LastAct = {}) {
    this.#lastAct = lastAct;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#resolve = resolve;
  }

  end(): void {
    this.#ended = true;
    for (const close of this.#sessions) void close();
    this.#resolve();
  }

  /** For the transport to the API server. */
  readonly fault: Fault = async (request, pass) => {
    if (this.#ended) return neverAnswers(request, pass);
    const response = await pass();
    if (this.#lastAct.request?.(request)) this.end();
    return this.#ended && !request.streaming ? neverAnswers(request, pass) : response;
  };

  /** The way to databases. */
  readonly connect: Connect = async (...way) => {
    const session = await this.#heard(connectPostgres(...way));
    this.#sessions.add(() => session.close());
    return {
      query: (sql, values) => this.#heard(session.query(sql, values), sql.trim()),
      close: () => this.#heard(session.close()),
    };
  };

  /** What comes of an act, unless the process dies with it or has died before. */
  async #heard<T>(act: Promise<T>, statement = ""): Promise<T> {
    if (this.#ended) return silence();
    const result = await act.catch((error) => (this.#ended ? silence<T>() : Promise.reject(error)));
    if (this.#lastAct.statement?.test(statement) && ++this.#matches === (this.#lastAct.nth ?? 1)) this.end();
    return this.#ended ? silence() : result;
  }
}

function silence<T>(): Promise<T> {
  return new Promise(() => {});
}
