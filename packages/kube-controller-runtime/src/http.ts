import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Access, Authorize } from "./access-review.ts";
import type { Clock } from "./clock.ts";
import { messageOf } from "./errors.ts";

/** Named checks; a failed one may throw to say why. */
export type Checks = Readonly<Record<string, () => boolean | Promise<boolean>>>;

export interface ProbeOptions {
  /** `:8081`, `127.0.0.1:8081`, `[::1]:8081`; port 0 selects a free port; `0` alone disables the server. */
  readonly address: string;
  readonly clock: Clock;
  readonly healthz: Checks;
  readonly readyz: Checks;
}

export interface MetricsOptions {
  /** As for probes. */
  readonly address: string;
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  /** Decides who may read the metrics; everyone if absent. */
  readonly authorize?: Authorize | undefined;
}

/** A listening server. */
export interface HttpServer {
  readonly port: number;
  /** Stops immediately and closes open connections. */
  close(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Routes = ReadonlyMap<string, (request: IncomingMessage) => Promise<Reply>>;

const REFUSALS: Readonly<Record<Exclude<Access, "allowed">, Reply>> = {
  unauthenticated: {
    status: 401,
    body: "bearer token required\n",
    headers: { "www-authenticate": "Bearer" },
  },
  forbidden: { status: 403, body: "forbidden\n" },
  busy: { status: 503, body: "busy\n", headers: { "retry-after": "1" } },
};

/** Below two seconds with some margin: a common timeout of probes. */
const CHECK_TIMEOUT_MS = 1_500;

/**
 * Serves `/healthz` and `/readyz`: 200 if all checks pass, otherwise 500 with the names of the failed ones.
 * Responds within two seconds; a check that hangs has failed.
 */
export function serveProbes(options: ProbeOptions): Promise<HttpServer | undefined> {
  const { address, clock, healthz, readyz } = options;
  const routes: Routes = new Map([
    ["/healthz", () => runChecks(healthz, clock)],
    ["/readyz", () => runChecks(readyz, clock)],
  ]);
  return serve(address, routes);
}

/** Serves `/metrics` in the Prometheus text format to clients that `authorize` allows. */
export function serveMetrics(options: MetricsOptions): Promise<HttpServer | undefined> {
  const { address, registry, authorize } = options;
  const metrics = async ({ headers }: IncomingMessage): Promise<Reply> => {
    const access = authorize ? await authorize(headers.authorization, "/metrics") : "allowed";
    if (access !== "allowed") return REFUSALS[access];
    return { status: 200, body: await registry.metrics(), headers: { "content-type": registry.contentType } };
  };
  return serve(address, new Map([["/metrics", metrics]]));
}

async function runChecks(checks: Checks, clock: Clock): Promise<Reply> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ({ name, failure: await runCheck(check, clock) })),
  );
  const ok = results.every(({ failure }) => failure === undefined);
  const lines = results.map(({ name, failure }) => (failure ? `[-] ${name}: ${failure}` : `[+] ${name}`));
  return { status: ok ? 200 : 500, body: [...lines, ok ? "ok" : "failed", ""].join("\n") };
}

async function runCheck(check: Checks[string], clock: Clock): Promise<string | undefined> {
  const late = Promise.withResolvers<string>();
  const cancel = clock.setTimer(() => late.resolve("timed out"), CHECK_TIMEOUT_MS);
  const answer = (async () => ((await check()) ? undefined : "not ready"))().catch(messageOf);
  return Promise.race([answer, late.promise]).finally(cancel);
}

/** Resolves once the server listens; with `undefined` if it is disabled. */
async function serve(address: string, routes: Routes): Promise<HttpServer | undefined> {
  const listen = parseListenAddress(address);
  if (!listen) return undefined;
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    void answer(routes, request, response);
  });
  const listening = Promise.withResolvers<void>();
  server.on("error", (cause) => {
    listening.reject(new Error(`can't listen on ${address}: ${cause.message}`, { cause }));
  });
  server.listen(listen, () => listening.resolve());
  await listening.promise;
  const closed = Promise.withResolvers<void>();
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close(() => closed.resolve());
      server.closeAllConnections();
      return closed.promise;
    },
  };
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body, headers } = await replyTo(routes, request);
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

async function replyTo(routes: Routes, request: IncomingMessage): Promise<Reply> {
  const { method, url = "/" } = request;
  const route = routes.get(url.split("?", 1)[0] ?? "/");
  if (!route) return { status: 404, body: "not found\n" };
  if (method !== "GET" && method !== "HEAD") return { status: 405, body: "only GET\n" };
  try {
    return await route(request);
  } catch (error) {
    return { status: 500, body: `${messageOf(error)}\n` };
  }
}

/** Where to listen; `undefined` for the address `0`. Throws if the address is not valid. */
export function parseListenAddress(address: string): { host?: string; port: number } | undefined {
  if (address === "0") return undefined;
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]*)):(\d{1,5})$/i.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new TypeError(`"${address}" is not a listen address; use host:port, :port, or 0 to disable it`);
  const host = match[1] || match[2];
  return host ? { host, port } : { port };
}
