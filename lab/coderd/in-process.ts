import type { Clock } from "kube-controller-runtime";
import { Dispatcher } from "undici";
import type { Route } from "../../src/coder/http/route.ts";
import { type Address, Coderds } from "./coderds.ts";
import type { CoderdDeployment, DeploymentOptions } from "./deployment.ts";
import { BEGUN_ANSWER, wireForm } from "./reply.ts";
import { type Outcome, respond } from "./respond.ts";

/**
 * Any number of coderds without a socket: the dispatcher passes requests directly to the simulator. Slow
 * responses are delayed by the given clock.
 */
export class InProcessCoderds {
  readonly route: Route;
  readonly #coderds = new Coderds();

  constructor(clock: Clock) {
    const dispatcher = new InProcessDispatcher(this.#coderds, clock);
    this.route = ({ origin, pathname }) => ({
      origin,
      pathPrefix: pathname.replace(/\/$/, ""),
      headers: {},
      dispatcher,
    });
  }

  add(options: DeploymentOptions = {}, address?: Address): CoderdDeployment {
    return this.#coderds.add(options, address);
  }

  close(): Promise<void> {
    return this.#coderds.close();
  }
}

class InProcessDispatcher extends Dispatcher {
  readonly #coderds: Coderds;
  readonly #clock: Clock;

  constructor(coderds: Coderds, clock: Clock) {
    super();
    this.#coderds = coderds;
    this.#clock = clock;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = new InProcessExchange(handler);
    if (!exchange.aborted) void this.#answer(options, exchange);
    return true;
  }

  async #answer(options: Dispatcher.DispatchOptions, exchange: InProcessExchange): Promise<void> {
    const headers = lowerCased(options.headers as Record<string, string>);
    const { host } = new URL(String(options.origin));
    const { deployment, path } = this.#coderds.locate(headers.host ?? host, options.path);
    const arrival = {
      method: options.method,
      path,
      headers,
      body: typeof options.body === "string" ? options.body : "",
      sleep: (ms: number) => this.#clock.sleep(ms),
    };
    exchange.show(await respond(deployment, arrival));
  }
}

/** A request in progress, as undici's controller of a connection. */
class InProcessExchange implements Dispatcher.DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  readonly #handler: Dispatcher.DispatchHandler;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
    handler.onRequestStart?.(this, {});
  }

  /** Delivers a response, ends the connection, or stalls. */
  show(outcome: Outcome): void {
    if (this.aborted) return;
    if (outcome.kind === "reply") {
      this.#begin(wireForm(outcome.reply));
      this.#handler.onResponseEnd?.(this, {});
      return;
    }
    if (outcome.midBody) this.#begin(BEGUN_ANSWER);
    if (outcome.kind === "cut")
      this.abort(Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }));
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#handler.onResponseError?.(this, reason);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  #begin({ status, headers, body }: ReturnType<typeof wireForm>): void {
    this.#handler.onResponseStart?.(this, status, lowerCased(headers));
    if (body !== "") this.#handler.onResponseData?.(this, Buffer.from(body, "utf8"));
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
