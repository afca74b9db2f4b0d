import { ApiError, isForbidden, isTransient, isUnavailable } from "../client/error.ts";
import { AlreadyOwnedError } from "../controller/ownership.ts";
import type { Explain } from "../controller/steps.ts";
import { NotLeaderError } from "../errors.ts";
import { SchemaOutdatedError } from "./checkpoint.ts";
import { explainConflict } from "./conflict.ts";

/** The API server always responds to an apply of such a list with 500. */
const DUPLICATE = /duplicate entries for key/;

/**
 * Explains an error of the API server, or an unexpected one, to the reader of a condition. The message of an
 * unknown error is not included, because it may contain anything; it is in the log.
 */
export const explain: Explain = (error) => {
  if (error instanceof SchemaOutdatedError) return { reason: "SchemaOutdated", message: error.message };
  if (error instanceof AlreadyOwnedError) return explainConflict(error.objects);
  if (error instanceof NotLeaderError) {
    return {
      reason: "LeadershipLost",
      message: "Another replica of the operator is now the leader and continues.",
    };
  }
  if (error instanceof ApiError && DUPLICATE.test(error.message))
    return { reason: "Invalid", message: error.message };
  if (isForbidden(error)) return forbidden(error as ApiError);
  if (error instanceof ApiError) return { reason: apiReason(error), message: refused(error) };
  if (error instanceof Error && error.cause instanceof ApiError) return explain(error.cause);
  return {
    reason: "InternalError",
    message: "The operator failed unexpectedly; its log has the error. Please report it.",
  };
};

/**
 * The API server names what is missing; a rejected grant requires the same verbs in the operator's own role.
 */
function forbidden(error: ApiError) {
  const missing = /not currently held:\s*(\{.*\})/s.exec(error.message)?.[1];
  if (!missing) return { reason: "Forbidden", message: refused(error) };
  return {
    reason: "GrantRefused",
    message: `The operator may only grant permissions that it has itself; add ${missing} to its ClusterRole or remove it from the spec.`,
  };
}

/** The client's message starts with the verb and ends with the server's message. */
function refused(error: ApiError): string {
  const message = `Could not ${error.message.replace(/\.$/, "")}.`;
  return isTransient(error) ? `${message} The operator retries.` : message;
}

function apiReason(error: ApiError): string {
  if (isUnavailable(error)) return "ApiServerUnavailable";
  return /^[A-Za-z]+$/.test(error.reason) ? error.reason : "ApiServerError";
}
