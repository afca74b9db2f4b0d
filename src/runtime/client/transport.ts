import type { Readable } from "node:stream";
import { Agent, type Dispatcher } from "undici";
import type { Credentials } from "./credentials.ts";

export interface TransportRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query, relative to the API server's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** A response that never ends by itself: it gets a connection of its own. */
  readonly streaming?: boolean;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The HTTP edge of the client: one request, one response, no policy. Rejects only when no response
 * came; ends the body with an error when it was cut. Tests put a fake API server here.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_PROBE_MS = 15_000;
const REQUEST_CONNECTIONS = 32;

/**
 * Sends requests with undici over kept-alive connections. Watches use a second agent, so that any number
 * of them leaves all connections for requests free. After a 401 the credentials are read again and the
 * request is sent once more: token files and client certificates may have been rotated.
 */
export function httpTransport(credentials: Credentials): Transport {
  const agents = { requests: newAgent(credentials, REQUEST_CONNECTIONS), watches: newAgent(credentials) };

  async function sendOnce(request: TransportRequest): Promise<Dispatcher.ResponseData> {
    const agent = request.streaming ? agents.watches : agents.requests;
    const options: Dispatcher.RequestOptions = {
      origin: credentials.origin,
      path: credentials.pathPrefix + request.path,
      method: request.method,
      headers: { ...request.headers, ...(await credentials.headers()) },
      body: request.body ?? null,
      signal: request.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return agent.request(options);
  }

  return {
    async send(request) {
      let response = await sendOnce(request);
      if (response.statusCode === 401 && (await credentials.refresh())) {
        await response.body.dump();
        response = await sendOnce(request);
      }
      return { status: response.statusCode, headers: response.headers, body: response.body as Readable };
    },
    async close() {
      await Promise.all([agents.requests.destroy(), agents.watches.destroy()]);
    },
  };
}

function newAgent(credentials: Credentials, connections?: number): Agent {
  return new Agent({
    ...(connections ? { connections } : {}),
    pipelining: 1,
    allowH2: false,
    connect: {
      ...credentials.tls,
      timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
    },
  });
}
