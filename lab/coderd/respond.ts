import type { Account } from "./accounts.ts";
import type { CoderdDeployment } from "./deployment.ts";
import type { Fault, Injection } from "./faults.ts";
import { json, message, type Reply, routeNotFound } from "./reply.ts";
import { findRoute, gate } from "./routes.ts";

/** A request, regardless of its transport. */
export interface Arrival {
  readonly method: string;
  /** The path within the deployment, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** Waits for the duration of a slow response. */
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * The result of a request: a response, or a connection that breaks or stalls, possibly within the response.
 */
export type Outcome =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "stall" | "cut"; readonly midBody: boolean };

const MINUTE_MS = 60_000;
const databaseDown = message(500, "Internal error fetching API key by id.");

/** Handles a request like coderd, unless a fault is injected. */
export async function respond(deployment: CoderdDeployment | undefined, arrival: Arrival): Promise<Outcome> {
  if (!deployment) return replied(json(503, { message: "No such deployment." }));
  const url = new URL(arrival.path, "http://coderd");
  const name = `${arrival.method} ${url.pathname}`;
  const token = sessionToken(arrival);
  const found = await findAccount(deployment, token);
  const account = found === "unknown" ? undefined : found;
  deployment.calls.push({ request: name, at: deployment.now(), user: account?.username });
  const injection = deployment.faults.next(name);
  const early = injection && !injection.afterEffect ? await show(injection, arrival) : undefined;
  if (early) return early;
  const reply =
    found === "unknown" ? databaseDown : await act(deployment, { url, arrival, caller: { token, account } });
  const late = injection?.afterEffect ? await show(injection, arrival) : undefined;
  return late ?? replied(reply);
}

function replied(reply: Reply): Outcome {
  return { kind: "reply", reply };
}

/** Without its database, coderd can't identify the owner of a token. */
async function findAccount(
  { accounts, people, now }: CoderdDeployment,
  token: string | undefined,
): Promise<Account | "unknown" | undefined> {
  if (token === undefined) return undefined;
  const session = people.session(token);
  if (session) return session;
  return accounts.find(token, now()).catch(() => "unknown");
}

function act(
  deployment: CoderdDeployment,
  {
    url,
    arrival,
    caller,
  }: {
    url: URL;
    arrival: Arrival;
    caller: { token: string | undefined; account: Account | undefined };
  },
): Reply | Promise<Reply> {
  const redirect = redirectTo(deployment.redirectsTo, arrival);
  if (redirect) return redirect;
  const found = findRoute(arrival.method, url.pathname);
  const limited = rateLimit(deployment, arrival, caller.account);
  const refused = limited ?? gate(found?.route, deployment, caller);
  if (refused || !found) return refused ?? routeNotFound;
  return found.route.handle({
    deployment,
    params: found.params,
    query: url.searchParams,
    headers: arrival.headers,
    body: bodyOf(arrival),
    account: caller.account as Account,
  });
}

/** Redirects like coderd: without the path, and to the host of the request or of a proxy before it. */
function redirectTo(accessURL: string | undefined, { headers }: Arrival): Reply | undefined {
  if (accessURL === undefined) return undefined;
  const { host } = new URL(accessURL);
  const isAskedSo = headers.host === host || headers["x-forwarded-host"] === host;
  return isAskedSo ? undefined : { status: 307, headers: { location: accessURL } };
}

/**
 * The limit applies per endpoint and user, and only owners may bypass it: other users are rejected if they
 * try. Before, it applied per endpoint and address, and could not be bypassed.
 */
function rateLimit(
  deployment: CoderdDeployment,
  { method, path, headers }: Arrival,
  account: Account | undefined,
): Reply | undefined {
  const { traits, requestsPerMinute: limit } = deployment;
  const isBypass = account && traits.hasUserLimits && headers["x-coder-bypass-ratelimit"] === "true";
  if (isBypass && account.owner) return undefined;
  if (isBypass) return { status: 428, text: '"X-Coder-Bypass-Ratelimit" provided but user is not owner\n' };
  if (limit === undefined) return undefined;
  const since = deployment.now() - MINUTE_MS;
  const endpoint = `${method} ${new URL(path, "http://coderd").pathname}`;
  const counted = deployment.calls.filter(
    ({ request, user, at }) =>
      at > since && request === endpoint && (!traits.hasUserLimits || user === account?.username),
  );
  return counted.length > limit ? tooManyRequests("60", limit) : undefined;
}

function tooManyRequests(retryAfter: string | undefined, limit = 512): Reply {
  return json(
    429,
    { message: `You've been rate limited for sending more than ${limit} requests in 1m0s.` },
    retryAfter === undefined ? {} : { "Retry-After": retryAfter },
  );
}

/** Simulates a fault; `undefined` if the real response is to follow. */
async function show({ fault }: Injection, { sleep, path }: Arrival): Promise<Outcome | undefined> {
  if (fault.kind === "latency") {
    await sleep(fault.ms);
    return undefined;
  }
  if (fault.kind === "stall" || fault.kind === "cut")
    return { kind: fault.kind, midBody: fault.midBody ?? false };
  return replied(faultyReply(fault, path));
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

function bodyOf({ body }: Arrival): Record<string, unknown> {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

function sessionToken({ headers }: Arrival): string | undefined {
  const token = headers["coder-session-token"];
  return typeof token === "string" && token !== "" ? token : undefined;
}
