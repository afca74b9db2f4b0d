import { hash } from "node:crypto";
import type { Client } from "./client/client.ts";
import type { Clock } from "./clock.ts";
import { SubjectAccessReview, TokenReview } from "./kinds.ts";
import type { PolicyRule } from "./rbac.ts";

/** The API server's verdict on a client. */
export type Access = "allowed" | "unauthenticated" | "forbidden" | "busy";

/**
 * Decides whether a client may `GET` a path, by the `Authorization` header of the request. Rejects if the API
 * server could not be asked.
 */
export type Authorize = (authorization: string | undefined, path: string) => Promise<Access>;

/**
 * Permissions that the operator's role needs for `reviewAccess`; both are part of the ClusterRole
 * `system:auth-delegator`.
 */
export const accessReviewRules: readonly PolicyRule[] = [
  {
    resources: ["tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io"],
    verbs: ["create"],
    because: "Authenticate and authorize clients that scrape the metrics.",
  },
];

/**
 * Scrapes repeat every few seconds, so this saves most requests, and a revoked permission still ends soon.
 */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;

/** Limits the memory and the requests that a client with made-up tokens can cause. */
const MAX_REMEMBERED = 256;
const MAX_CONCURRENT = 4;

interface Decision {
  readonly access: Promise<Access>;
  until: number;
}

/**
 * Decides like the API server: a TokenReview authenticates the bearer token, and a SubjectAccessReview
 * authorizes the verb `get` on the path as a non-resource URL. A permission is cached for a minute, a refusal
 * for ten seconds; tokens are stored as hashes. The client must not be fenced, because standbys are scraped
 * too.
 */
export function reviewAccess(client: Pick<Client, "create">, clock: Clock): Authorize {
  const decisions = new Map<string, Decision>();
  let underWay = 0;
  return (authorization, path) => {
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
    if (!token) return Promise.resolve("unauthenticated");
    const key = hash("sha256", `${path} ${token}`);
    const known = decisions.get(key);
    if (known && known.until > clock.monotonic()) return known.access;
    if (underWay >= MAX_CONCURRENT) return Promise.resolve("busy");
    underWay++;
    const asked = review(client, token, path).finally(() => underWay--);
    const decision: Decision = { access: asked, until: Number.POSITIVE_INFINITY };
    remember(decisions, key, decision);
    const lasts = (ms: number) => {
      decision.until = clock.monotonic() + ms;
    };
    asked.then(
      (access) => lasts(access === "allowed" ? ALLOWED_MS : REFUSED_MS),
      () => lasts(0),
    );
    return asked;
  };
}

async function review(client: Pick<Client, "create">, token: string, path: string): Promise<Access> {
  const { status: bearer } = await client.create(TokenReview, { spec: { token } });
  if (!bearer?.authenticated || !bearer.user) return "unauthenticated";
  const { username = "", uid = "", groups = [], extra = {} } = bearer.user;
  const nonResourceAttributes = { path, verb: "get" };
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  const { status } = await client.create(SubjectAccessReview, { spec });
  return status?.allowed && !status.denied ? "allowed" : "forbidden";
}

/** Evicts the oldest entry when the cache is full. */
function remember(decisions: Map<string, Decision>, key: string, decision: Decision): void {
  decisions.delete(key);
  decisions.set(key, decision);
  const [oldest] = decisions.keys();
  if (decisions.size > MAX_REMEMBERED && oldest !== undefined) decisions.delete(oldest);
}
