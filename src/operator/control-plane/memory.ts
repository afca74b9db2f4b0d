import type { RateLimitMemory } from "../shared/retry.ts";
import type { LicenseOutcome } from "./steps/license.ts";
import type { Result } from "./steps/result.ts";

/**
 * What the operator remembers of one control plane between runs, so that a run with nothing to do asks
 * neither coderd nor its database. Losing it costs a few questions, never correctness.
 */
export interface Memory extends RateLimitMemory {
  /** The token that was last found good, by hash, and when. */
  token?: { readonly hash: string; readonly checkedAt: number };
  /** The last failed attempt at operator access, with the inputs it failed for. */
  accessFailure?: { readonly inputs: string; readonly at: number; readonly result: Result<string> };
  /** The last failed upload of a licence, by hash. */
  licenseFailure?: {
    readonly hash: string;
    readonly retryAt: number;
    readonly result: Result<LicenseOutcome>;
  };
  /** When coderd was last seen to list a licence. */
  licenseListedAt?: number;
}
