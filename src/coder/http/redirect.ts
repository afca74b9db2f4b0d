import type { Answer } from "./answer.ts";
import { NoAnswer } from "./no-answer.ts";
import type { Destination } from "./route.ts";

export interface Hop {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
}

const REDIRECT_ADVICE =
  "If that is its access URL, let coderd serve that scheme and host itself, or unset CODER_REDIRECT_TO_ACCESS_URL";

const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Returns the request to send for a redirect, otherwise `undefined`. Rejects redirects to another host, which
 * would receive the token; redirects outside of coderd's path, where the credentials of an intermediary such
 * as the API server's proxy would be valid; and redirects of any request except GET, which could be repeated.
 */
export function followRedirect(
  answer: Answer,
  from: Hop,
  server: { readonly coderd: URL; readonly destination: Destination },
): Hop | undefined {
  if (!REDIRECTS.includes(answer.status)) return undefined;
  const { coderd, destination } = server;
  const current = new URL(from.path, destination.origin);
  const target = URL.parse(answer.location ?? "", current.href);
  if (!target) throw new NoAnswer(`it answers ${answer.status} without a valid Location header`);
  if (from.method !== "GET")
    throw new NoAnswer(`it redirects a ${from.method} request to ${target.origin}; not followed`);
  const path = target.pathname + target.search;
  if (target.origin === current.origin && path.startsWith(`${destination.pathPrefix}/`))
    return { method: "GET", path };
  if (target.origin === coderd.origin) return { method: "GET", path: destination.pathPrefix + path };
  if (target.origin === current.origin)
    throw new NoAnswer(`it redirects outside of its own path, ${target.origin}; not followed`);
  throw new NoAnswer(`it redirects to another host, ${target.origin}; not followed. ${REDIRECT_ADVICE}`);
}
