import { createHash } from "node:crypto";
import { admittedBy, type Clock, type Fence } from "kube-controller-runtime";
import type { Dispatcher } from "undici";
import { type Answer, type AnswerShape, readAnswer } from "./answer.ts";
import { Connections } from "./connections.ts";
import { NoAnswer } from "./no-answer.ts";
import { followRedirect, type Hop } from "./redirect.ts";
import type { Destination, Route } from "./route.ts";
import { Slots } from "./slots.ts";

const CONCURRENT_REQUESTS = 8;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;
const BYPASS_HEADER = "X-Coder-Bypass-Ratelimit";

export interface HttpRequest {
  readonly method: Hop["method"];
  readonly path: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
  /** Authentication headers instead of the session token. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly answerShape?: AnswerShape | undefined;
}

export interface HostOptions {
  readonly url: URL;
  /** Host of the access URL, sent with each request. */
  readonly accessHost?: string | undefined;
  /** PEM certificates to trust in addition to the system's. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
  readonly fence: Fence;
  readonly route: Route;
}

/**
 * One coderd with its connections. At most 8 requests run at the same time, and each ends within 10 s,
 * including the time in the queue. So a stalled coderd delays only its own callers, and only for a short
 * time.
 */
export class CoderHost {
  readonly #options: HostOptions;
  readonly #connections: Connections;
  readonly #admit = () => this.#options.fence.assertLeading();
  readonly #slots = new Slots(CONCURRENT_REQUESTS);
  /** Hashes of tokens that are not permitted to bypass the rate limit, to save a request each time. */
  readonly #withoutBypass = new Set<string>();

  constructor(options: HostOptions) {
    this.#options = options;
    const { ca, accessHost } = options;
    const servername = accessHost && hostnameOf(accessHost);
    this.#connections = new Connections({ ca, servername, limit: CONCURRENT_REQUESTS, admit: this.#admit });
  }

  /**
   * Rejects with `NoAnswer` if there is no valid response, and with `NotLeaderError` if the fence is closed.
   */
  async send(request: HttpRequest): Promise<Answer> {
    const token = request.token;
    if (token === undefined) return this.#exchange(request, {});
    const headers = { "Coder-Session-Token": token };
    const tokenHash = createHash("sha256").update(token).digest("base64");
    if (this.#withoutBypass.has(tokenHash)) return this.#exchange(request, headers);
    const answer = await this.#exchange(request, { ...headers, [BYPASS_HEADER]: "true" });
    if (!refusesBypass(answer)) return answer;
    this.#withoutBypass.add(tokenHash);
    return this.#exchange(request, headers);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #exchange(request: HttpRequest, headers: Record<string, string>): Promise<Answer> {
    const deadline = startDeadline(this.#options.clock);
    let release: (() => void) | undefined;
    try {
      release = await this.#slots.take(deadline.signal);
      return await this.#follow(request, headers, deadline.signal);
    } catch (error) {
      this.#options.fence.signal.throwIfAborted();
      throw NoAnswer.from(error);
    } finally {
      release?.();
      deadline.cancel();
    }
  }

  async #follow(request: HttpRequest, headers: Record<string, string>, deadline: AbortSignal) {
    const destination = await this.#options.route(this.#options.url);
    let hop: Hop = { method: request.method, path: destination.pathPrefix + request.path };
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await this.#request(destination, hop, { request, headers, deadline });
      const answer = await readAnswer(response, deadline, request.answerShape);
      const next = followRedirect(answer, hop, { coderd: this.#options.url, destination });
      if (!next) return answer;
      hop = next;
    }
    throw new NoAnswer(`redirect loop: it redirected more than ${MAX_REDIRECTS} times`);
  }

  #request(
    destination: Destination,
    hop: Hop,
    sent: { request: HttpRequest; headers: Record<string, string>; deadline: AbortSignal },
  ): Promise<Dispatcher.ResponseData> {
    const body = sent.request.body === undefined ? null : JSON.stringify(sent.request.body);
    const { dispatcher } = destination;
    const { accessHost } = this.#options;
    const connections = dispatcher ? admittedBy(this.#admit, dispatcher) : this.#connections;
    return connections.request({
      origin: destination.origin,
      path: hop.path,
      method: hop.method,
      headers: {
        accept: "application/json",
        ...(body === null ? {} : { "content-type": "application/json" }),
        ...sent.request.headers,
        ...sent.headers,
        // Prevents a redirect to the access URL. Proxies on the way may use the `Host` header for routing.
        ...(accessHost ? { "x-forwarded-host": accessHost } : {}),
        ...destination.headers,
      },
      body,
      signal: sent.deadline,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
}

function hostnameOf(host: string): string {
  return host.replace(/:\d+$/, "").toLowerCase();
}

/** Starts the deadline of a request. */
function startDeadline(clock: Clock) {
  const controller = new AbortController();
  const cancel = clock.setTimer(
    () => controller.abort(new NoAnswer(`no complete response within ${REQUEST_TIMEOUT_MS / 1_000} s`)),
    REQUEST_TIMEOUT_MS,
  );
  return { signal: controller.signal, cancel };
}

function refusesBypass(answer: Answer): boolean {
  return answer.status === 428 || (answer.status >= 400 && answer.body.includes(`"${BYPASS_HEADER}"`));
}
