import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Account } from "./accounts.ts";
import type { CoderdDeployment } from "./deployment.ts";
import type { Fault, Injection } from "./faults.ts";
import { json, message, type Reply, routeNotFound } from "./reply.ts";
import { findRoute, gate } from "./routes.ts";

interface Exchange {
  readonly request: IncomingMessage;
  /** The path within the deployment, with its query. */
  readonly path: string;
  readonly response: ServerResponse;
}

const MINUTE_MS = 60_000;
const databaseDown = message(500, "Internal error fetching API key by id.");

/** Answers one request: what coderd would, unless a fault is injected. */
export async function respond(deployment: CoderdDeployment | undefined, exchange: Exchange): Promise<void> {
  const body = await readBody(exchange.request);
  if (!deployment) return write(exchange.response, json(503, { message: "No such deployment." }));
  const url = new URL(exchange.path, "http://coderd");
  const name = `${exchange.request.method} ${url.pathname}`;
  const token = sessionToken(exchange.request);
  const found = await findAccount(deployment, token);
  const account = found === "unknown" ? undefined : found;
  deployment.calls.push({ request: name, at: deployment.now(), user: account?.username });
  const injection = deployment.faults.next(name);
  if (injection && !injection.afterEffect && (await show(injection, exchange))) return;
  const reply =
    found === "unknown" ? databaseDown : act(deployment, { url, exchange, caller: { token, account }, body });
  if (injection?.afterEffect && (await show(injection, exchange))) return;
  write(exchange.response, reply);
}

/** Without its database coderd can't tell whose a token is. */
async function findAccount(
  { accounts, now }: CoderdDeployment,
  token: string | undefined,
): Promise<Account | "unknown" | undefined> {
  if (token === undefined) return undefined;
  return accounts.find(token, now()).catch(() => "unknown");
}

function act(
  deployment: CoderdDeployment,
  {
    url,
    exchange,
    caller,
    body,
  }: {
    url: URL;
    exchange: Exchange;
    caller: { token: string | undefined; account: Account | undefined };
    body: Record<string, unknown>;
  },
): Reply {
  const found = findRoute(exchange.request.method ?? "GET", url.pathname);
  const limited = rateLimit(deployment, exchange.request, caller.account);
  const refused = limited ?? gate(found?.route, deployment, caller);
  if (refused || !found) return refused ?? routeNotFound;
  return found.route.handle({
    deployment,
    params: found.params,
    query: url.searchParams,
    headers: exchange.request.headers,
    body,
    account: caller.account as Account,
  });
}

/**
 * Only owners may bypass the limit; anyone else who asks to is turned away. So say coderd's sources of limits that come
 * after authentication. Those of 2.26's API come before it: by address and endpoint, and nobody may bypass them.
 */
function rateLimit(
  deployment: CoderdDeployment,
  request: IncomingMessage,
  account: Account | undefined,
): Reply | undefined {
  const limit = deployment.requestsPerMinute;
  if (limit === undefined || !account) return undefined;
  const bypass = request.headers["x-coder-bypass-ratelimit"] === "true";
  if (bypass && account.owner) return undefined;
  if (bypass) return { status: 428, text: '"X-Coder-Bypass-Ratelimit" provided but user is not owner\n' };
  const since = deployment.now() - MINUTE_MS;
  const recent = deployment.calls.filter(({ user, at }) => user === account.username && at > since);
  if (recent.length <= limit) return undefined;
  return tooManyRequests("60", limit);
}

function tooManyRequests(retryAfter: string | undefined, limit = 512): Reply {
  return json(
    429,
    { message: `You've been rate limited for sending more than ${limit} requests in 1m0s.` },
    retryAfter === undefined ? {} : { "Retry-After": retryAfter },
  );
}

/** Plays a fault; false when the real answer is to follow. */
async function show({ fault }: Injection, { request, response }: Exchange): Promise<boolean> {
  if (fault.kind === "latency") {
    await delay(fault.ms);
    return false;
  }
  if (fault.kind === "stall" || fault.kind === "cut") {
    if (fault.midBody) await beginAnswer(response);
    if (fault.kind === "cut") request.socket.destroy();
    return true;
  }
  write(response, faultyReply(fault, request.url ?? "/"));
  return true;
}

function faultyReply(fault: Exclude<Fault, { kind: "latency" | "stall" | "cut" }>, path: string): Reply {
  switch (fault.kind) {
    case "answer":
      return json(fault.status, fault.body ?? { message: "Injected." }, fault.headers);
    case "rateLimited":
      return tooManyRequests(fault.retryAfter);
    case "html":
      return {
        status: fault.status ?? 200,
        text: "<!doctype html><html><body>Sign in</body></html>",
        headers: { "Content-Type": "text/html; charset=utf-8" },
      };
    case "truncatedJson":
      return {
        status: 200,
        text: '{"has_license": tr',
        headers: { "Content-Type": "application/json; charset=utf-8" },
      };
    case "wrongShape":
      return json(200, 42);
    case "redirect":
      return { status: 307, text: "", headers: { Location: fault.to } };
    case "redirectLoop":
      return { status: 307, text: "", headers: { Location: path } };
  }
}

function beginAnswer(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "Content-Type": "application/json; charset=utf-8", "Content-Length": 1_000 });
  return new Promise((resolve) => response.write('{"has_', () => resolve()));
}

function write(response: ServerResponse, { status, body, text, headers }: Reply): void {
  const isJson = body !== undefined;
  const contentType = isJson ? "application/json; charset=utf-8" : "text/plain; charset=utf-8";
  const withType = isJson || text ? { "Content-Type": contentType } : {};
  response.writeHead(status, { ...withType, ...headers });
  response.end(isJson ? JSON.stringify(body) : (text ?? ""));
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return {};
  }
}

function sessionToken(request: IncomingMessage): string | undefined {
  const token = request.headers["coder-session-token"];
  return typeof token === "string" && token !== "" ? token : undefined;
}
