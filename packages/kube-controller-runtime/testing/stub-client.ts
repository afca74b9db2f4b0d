import type { Client } from "../src/client/client.ts";
import { ApiError, type ApiErrorReason } from "../src/client/error.ts";

/** A client that has only the methods a test gives it; any other fails the test that needs it. */
export function stubClient(methods: { [Name in keyof Client]?: unknown }): Client {
  const refuse = (verb: string) => () => {
    throw new Error(`the test expects no ${verb}`);
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

/** The error that the API server's answer of that reason becomes; no answer at all for other reasons. */
export function apiError(reason: ApiErrorReason): ApiError {
  return new ApiError(`the server said ${reason}`, { reason, code: CODES[reason] ?? 0 });
}

/** A `Logger` that writes nothing. */
export const silentLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
