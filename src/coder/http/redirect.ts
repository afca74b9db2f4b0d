import type { Answer } from "./answer.ts";
import { NoAnswer } from "./no-answer.ts";
import type { Destination } from "./route.ts";

export interface Hop {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
}

const ELSEWHERE_ADVICE =
  "If that is its access URL, let coderd serve that scheme and host itself, or unset CODER_REDIRECT_TO_ACCESS_URL";

const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * The next request when an answer is a redirect, else `undefined`. Refuses to leave the host, which would
 * hand the token to another one, and the path of coderd there, beyond which the credentials of the way, such as the
 * API server's proxy, would reach anything; and to repeat anything but a GET, which might do it twice.
 */
export function followRedirect(
  answer: Answer,
  from: Hop,
  way: { readonly coderd: URL; readonly destination: Destination },
): Hop | undefined {
  if (!REDIRECTS.includes(answer.status)) return undefined;
  const { coderd, destination } = way;
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
  throw new NoAnswer(`it redirects to another host, ${target.origin}; not followed. ${ELSEWHERE_ADVICE}`);
}
