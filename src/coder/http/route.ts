import type { Dispatcher } from "undici";

/** Where a request for a coderd really goes. */
export interface Destination {
  readonly origin: string;
  /** Put before every path; empty, or starts with a slash and ends without one. */
  readonly pathPrefix: string;
  /** Added to every request: what the way there needs, such as credentials of a proxy. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Connections to use instead of the client's own. They stay the caller's to close. */
  readonly dispatcher?: Dispatcher;
}

/**
 * Finds the way to a coderd from the URL it has inside its cluster. Asked anew for every request, so that
 * credentials of the way may change.
 */
export type Route = (coderd: URL) => Destination | Promise<Destination>;

/** Straight to the URL, as inside the cluster. */
export const directRoute: Route = (coderd) => ({
  origin: coderd.origin,
  pathPrefix: withoutTrailingSlash(coderd.pathname),
  headers: {},
});

/**
 * Everything to one address, with the URL's host in the `Host` header, by which TLS certificates are checked
 * too: for local work.
 */
export function fixedAddress(address: string): Route {
  const { origin, pathname } = new URL(address);
  return (coderd) => ({
    origin,
    pathPrefix: withoutTrailingSlash(pathname),
    headers: { host: coderd.host },
  });
}

function withoutTrailingSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
