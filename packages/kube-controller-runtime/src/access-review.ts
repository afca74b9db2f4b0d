import { hash } from "node:crypto";
import type { Client } from "./client/client.ts";
import type { Clock } from "./clock.ts";
import { SubjectAccessReview, TokenReview } from "./kinds.ts";
import type { PolicyRule } from "./rbac.ts";

/** What the API server says of who asks. */
export type Access = "allowed" | "unauthenticated" | "forbidden" | "busy";

/** Judges who may `GET` a path, by the `Authorization` header of the request. Rejects when nobody could be asked. */
export type Authorize = (authorization: string | undefined, path: string) => Promise<Access>;

/** What the operator's role must allow for `reviewAccess`; both are parts of the ClusterRole `system:auth-delegator`. */
export const accessReviewRules: readonly PolicyRule[] = [
  {
    resources: ["tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io"],
    verbs: ["create"],
    because: "Ask who scrapes the metrics, and whether that is allowed.",
  },
];

/** Scrapes come every few seconds, so a withdrawn permission ends soon and few of them cost a request. */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;

/** Whoever sends made-up tokens must neither fill the memory nor keep the API server busy. */
const MAX_REMEMBERED = 256;
const MAX_CONCURRENT = 4;

interface Decision {
  readonly access: Promise<Access>;
  until: number;
}

/**
 * Judges as the API server would: a bearer token by a TokenReview, and what its owner may do by a SubjectAccessReview
 * of the verb `get` on the path as a non-resource URL. A permission is believed for a minute, a refusal for ten
 * seconds; tokens are kept as hashes. The client must not be fenced: standbys are scraped too.
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

/** Forgets the oldest when there are too many. */
function remember(decisions: Map<string, Decision>, key: string, decision: Decision): void {
  decisions.delete(key);
  decisions.set(key, decision);
  const [oldest] = decisions.keys();
  if (decisions.size > MAX_REMEMBERED && oldest !== undefined) decisions.delete(oldest);
}
