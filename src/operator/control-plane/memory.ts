import type { StartMemory } from "kube-controller-runtime";
import type { RateLimitMemory } from "../coderd/retry.ts";
import type { AccessProblem } from "./steps/database.ts";
import type { LicenseOutcome } from "./steps/license.ts";
import type { Result } from "./steps/result.ts";

/**
 * What the operator remembers of one control plane between runs, so that a run with nothing to do asks
 * neither coderd nor its database. Losing it costs a few questions, never correctness.
 */
export interface Memory extends RateLimitMemory, StartMemory {
  /** The token that was last found good, by hash, and when. */
  token: { readonly hash: string; readonly checkedAt: number };
  /** The Secret of the token was found to be other than the cache has it. */
  tokenSecretUnseen: true;
  /** The name under which no Secret was found for the token. */
  freeTokenSecret: string;
  /** The last failed attempt at the database, with a hash of all that it depended on. */
  databaseFailure: { readonly attempt: string; readonly at: number; readonly problem: AccessProblem };
  /** The last failed upload of a licence, with a hash of all that it depended on. */
  licenseFailure: {
    readonly attempt: string;
    readonly retryAt: number;
    readonly result: Result<LicenseOutcome>;
  };
  /** When coderd was last seen to list a licence. */
  licenseListedAt: number;
  /** The last failed question for entitlements, and when to ask again. */
  entitlementsFailure: { readonly retryAt: number; readonly result: Result };
}
