import { Backoff, type StartMemory } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import type { HealthFinding, HealthReport } from "../../coder/health.ts";
import type { License } from "../../coder/model.ts";
import type { Result } from "../../coder/result.ts";
import type { AccessFailure } from "../coderd/access-failure.ts";
import { coderdBackoff, slowBackoff } from "../coderd/backoff.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import type { TokenEndMemory } from "../coderd/token-end.ts";
import type { ComparisonMemory } from "../inside/due.ts";
import type { UpgradeMemory } from "../upgrade/observe.ts";
import type { WarningMemory } from "../workload/pods/warnings.ts";
import type { FailingPodsMemory } from "../workload/replace-stuck.ts";
import type { SecretMemory } from "./own-secret.ts";

/** Retry interval for the database while nothing changes. */
export const DATABASE_RETRY_MS = 30_000;

/**
 * In-memory state of one control plane between reconciles, so that an idle reconcile sends no requests to
 * coderd or its database. Losing it costs a few requests, never correctness.
 */
export interface Memory extends StartMemory, TokenEndMemory, WarningMemory, FailingPodsMemory, UpgradeMemory {
  /** Hash of the last valid token, and when it was checked. */
  goodToken?: { readonly hash: string; readonly checkedAt: number };
  readonly tokenSecret: SecretMemory;
  readonly passwordSecret: SecretMemory;
  readonly token: Backoff<AccessFailure>;
  readonly revocation: Backoff<AccessFailure>;
  readonly license: Backoff<CoderFailure>;
  readonly firstAdmin: Backoff<CoderFailure>;
  /** When coderd last reported users. */
  firstAdminCheck?: { readonly at: number };
  /** When coderd last listed a license. */
  licenseListedAt?: number;
  /** Licenses for the steps of the same reconcile. */
  listedLicenses?: { readonly at: number; readonly answer: Result<readonly License[], CoderFailure> };
  readonly entitlements: Backoff<CoderFailure>;
  /** Address of the last entitlements request, and when the address changed. */
  askedAddress?: { readonly url: string; readonly changedAt?: number };
  health?: ReportedHealth;
  /** A pending health report and the inputs of its request. */
  healthAsked?: { readonly inputs: string; readonly answer: Promise<Result<HealthReport, CoderFailure>> };
  databaseProbe?: DatabaseProbe;
  /** A request of the last reconcile failed because coderd could not reach its database. */
  suspectsDatabase?: true;
  readonly healthBackoff: Backoff<CoderFailure>;
  readonly organizationSync: ComparisonMemory & { readonly backoff: Backoff<CoderFailure> };
}

/** Last result of the database check. */
interface DatabaseProbe {
  readonly askedAt: number;
  readonly outage: CoderFailure | undefined;
}

/** A finding, and the times of the later reports without it. */
interface HeldFinding {
  readonly finding: HealthFinding;
  readonly absentFrom: readonly number[];
}

/** Merged findings of several reports. */
export type HeldFindings = readonly HeldFinding[];

/** Last health report of coderd, and when. */
export interface ReportedHealth {
  readonly held: HeldFindings;
  readonly askedAt: number;
}

export function newMemory({ random }: Pick<CoderPorts, "random">): Memory {
  return {
    tokenSecret: {},
    passwordSecret: {},
    token: databaseBackoff(),
    revocation: databaseBackoff(),
    license: coderdBackoff(random),
    firstAdmin: coderdBackoff(random),
    entitlements: coderdBackoff(random),
    notices: { banner: coderdBackoff(random), prebuilds: coderdBackoff(random) },
    healthBackoff: slowBackoff(random),
    organizationSync: { backoff: coderdBackoff(random) },
  };
}

function databaseBackoff(): Backoff<AccessFailure> {
  return new Backoff(() => ({ ms: DATABASE_RETRY_MS, endsOnChange: true }));
}
