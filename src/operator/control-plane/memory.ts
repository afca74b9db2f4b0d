import { Backoff, type StartMemory } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import type { HealthFinding, HealthReport } from "../../coder/health.ts";
import type { License } from "../../coder/model.ts";
import type { Result } from "../../coder/result.ts";
import type { AccessFailure } from "../coderd/access-failure.ts";
import { calmBackoff, coderdBackoff } from "../coderd/backoff.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import type { TokenEndMemory } from "../coderd/token-end.ts";
import type { UpgradeMemory } from "../upgrade/observe.ts";
import type { WarningMemory } from "../workload/pods/warnings.ts";
import type { StuckMemory } from "../workload/replace-stuck.ts";

/** How often a failed attempt at the database is repeated while nothing changes. */
export const DATABASE_RETRY_MS = 30_000;

/**
 * What the operator remembers of one control plane between runs, so that a run with nothing to do asks
 * neither coderd nor its database. Losing it costs a few questions, never correctness.
 */
export interface Memory extends StartMemory, TokenEndMemory, WarningMemory, StuckMemory, UpgradeMemory {
  /** The token that was last found good, by hash, and when. */
  goodToken?: { readonly hash: string; readonly checkedAt: number };
  /** The Secret of the token was found to be other than the cache has it, so that it is read past the cache once. */
  isTokenSecretUnseen?: true;
  /** The name under which no Secret was found for the token. */
  freeTokenSecret?: string;
  readonly token: Backoff<AccessFailure>;
  readonly revocation: Backoff<AccessFailure>;
  readonly license: Backoff<CoderFailure>;
  /** When coderd was last seen to list a license. */
  licenseListedAt?: number;
  /** What coderd listed, for the steps of the same run. */
  listedLicenses?: { readonly at: number; readonly answer: Result<readonly License[], CoderFailure> };
  readonly entitlements: Backoff<CoderFailure>;
  /** Where coderd was last asked for its entitlements, and since when it is somewhere else. */
  askedAddress?: { readonly url: string; readonly changedAt?: number };
  health?: ReportedHealth;
  /** The question for a report that no run has read the answer to, and what was asked with. */
  healthAsked?: { readonly inputs: string; readonly answer: Promise<Result<HealthReport, CoderFailure>> };
  databaseProbe?: DatabaseProbe;
  /** A request of the last run failed because coderd could not reach its database. */
  suspectsDatabase?: true;
  readonly healthBackoff: Backoff<CoderFailure>;
}

/** The last answer to whether coderd reaches its database. */
interface DatabaseProbe {
  readonly askedAt: number;
  readonly outage: CoderFailure | undefined;
}

/** A finding, and the reports since that did not have it, by the times at which they were made. */
interface HeldFinding {
  readonly finding: HealthFinding;
  readonly absentFrom: readonly number[];
}

/** What several reports say together. */
export type HeldFindings = readonly HeldFinding[];

/** What coderd last reported of its health, and when. */
export interface ReportedHealth {
  readonly held: HeldFindings;
  readonly askedAt: number;
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return {
    token: databaseBackoff(),
    revocation: databaseBackoff(),
    license: coderdBackoff(random),
    entitlements: coderdBackoff(random),
    notices: { banner: coderdBackoff(random), prebuilds: coderdBackoff(random) },
    healthBackoff: calmBackoff(random),
  };
}

function databaseBackoff(): Backoff<AccessFailure> {
  return new Backoff(() => ({ ms: DATABASE_RETRY_MS, endsOnChange: true }));
}
