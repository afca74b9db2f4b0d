import type { CoderFailure } from "../../src/coder/failure.ts";
import type { Result } from "../../src/coder/result.ts";

/** The value of a successful result. */
export function success<T>(result: Result<T, CoderFailure>): T {
  if (!result.ok) throw new Error(`${result.failure.kind}: ${result.failure.message}`);
  return result.value;
}

/** The failure of an unsuccessful result. */
export function failure(result: Result<unknown, CoderFailure>): CoderFailure {
  if (result.ok) throw new Error("succeeded");
  return result.failure;
}
