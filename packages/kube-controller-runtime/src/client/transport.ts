import { isDeepStrictEqual } from "node:util";
import { Agent, type Dispatcher } from "undici";
import { type ConnectionOptions, connectorFor } from "./connect.ts";
import type { Credentials } from "./credentials.ts";
import { exchange } from "./exchange.ts";
import type { RequestHeaders, TlsOptions } from "./identity.ts";

/** One HTTP request to the API server. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query, relative to the API server's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** A response that does not end by itself: it gets its own connection. */
  readonly streaming?: boolean;
  /**
   * Called when the request is sent on its connection, possibly after a wait; if it throws, the request fails
   * without being sent.
   */
  readonly admit?: (() => void) | undefined;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The HTTP layer of the client: one request, one response, no policy. Rejects only if there is no response;
 * the body ends with an error if it is truncated. Tests replace it with a fake API server.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

const REQUEST_CONNECTIONS = 32;

interface Agents {
  readonly tls: TlsOptions;
  readonly requests: Agent;
  readonly watches: Agent;
}

/** A response, and the credentials of its request. */
interface Attempt {
  readonly response: TransportResponse;
  readonly tls: TlsOptions;
  readonly headers: RequestHeaders;
}

/**
 * Sends requests with undici over keep-alive connections. Watches use a second agent, so that they never
 * occupy the connections of requests. After a 401 the credentials are read again and, if they were rotated,
 * the request is sent once more. Changed certificates cause new connections.
 */
export function httpTransport(credentials: Credentials): Transport {
  let agents = newAgents(credentials);

  async function attempt(request: TransportRequest): Promise<Attempt> {
    const headers = await orAborted(credentials.headers(), request.signal);
    const { tls } = credentials;
    if (agents.tls !== tls && !agents.requests.destroyed) agents = replaced(agents, credentials);
    const agent = request.streaming ? agents.watches : agents.requests;
    const options = {
      origin: credentials.origin,
      path: credentials.pathPrefix + request.path,
      method: request.method,
      headers: { ...request.headers, ...headers },
      body: request.body ?? null,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    const response = request.streaming
      ? await stream(agent, { ...options, signal: request.signal })
      : await exchange(agent, options, request);
    return { response, tls, headers };
  }

  /** Whether another attempt would use different credentials; another request may have read them already. */
  async function isOutdated({ tls, headers }: Attempt): Promise<boolean> {
    const differs = async () =>
      credentials.tls !== tls || !isDeepStrictEqual(await credentials.headers(), headers);
    if (await differs()) return true;
    await credentials.refresh();
    return differs();
  }

  async function shouldRepeat(first: Attempt, signal: AbortSignal): Promise<boolean> {
    if (first.response.status !== 401) return false;
    // If the credentials can't be read, keep the 401 response, which says what is wrong.
    return orAborted(isOutdated(first), signal).catch(() => false);
  }

  return {
    async send(request) {
      const first = await attempt(request);
      if (!(await shouldRepeat(first, request.signal))) return first.response;
      for await (const _ of first.response.body);
      return (await attempt(request)).response;
    },
    async close() {
      await Promise.all([agents.requests.destroy(), agents.watches.destroy()]);
    },
  };
}

/** Returns the body as a stream, which must be read or destroyed. */
async function stream(agent: Agent, options: Dispatcher.RequestOptions): Promise<TransportResponse> {
  const { statusCode: status, headers, body } = await agent.request(options);
  return { status, headers, body };
}

/** An exec plugin may hang and can't be aborted, but the waiting request can. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function newAgents(options: ConnectionOptions): Agents {
  const agent = (limits: Agent.Options) =>
    new Agent({ ...limits, pipelining: 1, connect: connectorFor(options) });
  return { tls: options.tls, requests: agent({ connections: REQUEST_CONNECTIONS }), watches: agent({}) };
}

/** Requests in progress may finish on the old connections. */
function replaced(old: Agents, options: ConnectionOptions): Agents {
  for (const agent of [old.requests, old.watches]) agent.close().catch(() => undefined);
  return newAgents(options);
}
