import { Failure } from "./failure.ts";

/** The subject of a request. */
export interface Address {
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

/** Parses the path and query of a request like the API server. */
export function parseAddress(pathAndQuery: string): Address {
  const { pathname, searchParams: query } = new URL(pathAndQuery, "http://fake");
  const [, root, ...segments] = pathname.split("/").map(decodeURIComponent);
  if (root !== "api" && root !== "apis") throw pageNotFound();
  const apiVersion = segments.splice(0, root === "api" ? 1 : 2).join("/");
  const namespace = segments[0] === "namespaces" && segments.length > 2 ? segments[1] : undefined;
  const [plural, name, subresource] = segments.slice(namespace === undefined ? 0 : 2);
  if (!plural) throw pageNotFound();
  return { apiVersion, plural, namespace, name, subresource, query };
}

/** A path without a kind: a real API server responds with plain text and without a `Status`. */
export function pageNotFound(): Failure {
  return new Failure(404, "", "404 page not found");
}
