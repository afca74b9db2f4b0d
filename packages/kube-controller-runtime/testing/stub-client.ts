import type { Client } from "../src/client/client.ts";
import { ApiError, type ApiErrorReason } from "../src/client/error.ts";

/** A client with the given methods; any other method throws. */
export function stubClient(methods: { [Name in keyof Client]?: unknown }): Client {
  const refuse = (verb: string) => () => {
    throw new Error(`unexpected call of ${verb}`);
  };
  const verbs = [
    "get",
    "list",
    "watch",
    "create",
    "apply",
    "mergePatch",
    "jsonPatch",
    "patchStatus",
    "delete",
  ];
  return {
    ...Object.fromEntries(verbs.map((verb) => [verb, refuse(verb)])),
    ...methods,
  } as unknown as Client;
}

const CODES: Record<string, number> = {
  Forbidden: 403,
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
};

/** The error for an API server response with this reason, or for a missing response. */
export function apiError(reason: ApiErrorReason): ApiError {
  return new ApiError(`the server responded with ${reason}`, { reason, code: CODES[reason] ?? 0 });
}

/** A `Logger` that discards everything. */
export const silentLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
