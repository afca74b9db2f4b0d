import type { Dispatcher } from "undici";

/** Destination of a request to a coderd. */
export interface Destination {
  readonly origin: string;
  /** Prefix of every path. Empty, or with a leading slash and without a trailing slash. */
  readonly pathPrefix: string;
  /** Headers to add to every request, such as credentials for a proxy. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Connections to use instead of the client's own. The caller closes them. */
  readonly dispatcher?: Dispatcher;
}

/**
 * Returns the destination for the in-cluster URL of a coderd. Called for every request, so that credentials
 * may change.
 */
export type Route = (coderd: URL) => Destination | Promise<Destination>;

/** Connects to the URL directly, as inside the cluster. */
export const directRoute: Route = (coderd) => ({
  origin: coderd.origin,
  pathPrefix: withoutTrailingSlash(coderd.pathname),
  headers: {},
});

/**
 * Sends everything to one address, with the host of the URL in the `Host` header and as the TLS server name.
 * For local development.
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
