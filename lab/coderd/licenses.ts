import { randomUUID } from "node:crypto";

export interface LicenseClaims {
  readonly jti: string;
  readonly iss: string;
  readonly iat: number;
  readonly nbf: number;
  /** The end of the term, in seconds since the epoch; the grace period starts then. */
  readonly license_expires: number;
  /** The end of the grace period: the license is no longer valid. */
  readonly exp: number;
  readonly account_type: string;
  readonly account_id: string;
  readonly trial: boolean;
  readonly feature_set: string;
  readonly features: Readonly<Record<string, number>> | null;
  readonly version: number;
}

export interface StoredLicense {
  readonly id: number;
  readonly uuid: string;
  readonly uploaded_at: string;
  readonly claims: LicenseClaims;
  readonly jwt: string;
}

export interface FakeLicense {
  readonly featureSet?: "premium" | "enterprise";
  readonly trial?: boolean;
  /** Time until the end of the term; negative if it is over. */
  readonly expiresInMs?: number;
  readonly graceMs?: number;
  /** Time until the start of the term; defaults to a time before any clock of a test. */
  readonly startsInMs?: number;
  /** The number of active users; defaults to no limit. */
  readonly seats?: number;
  /** Further limits by feature name, such as `managed_agent_limit`. */
  readonly limits?: Readonly<Record<string, number>>;
  readonly now?: number;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A license that the simulator accepts: structured like a real one, without a valid signature. */
export function fakeLicense(options: FakeLicense = {}): string {
  const now = options.now ?? Date.now();
  const expires = now + (options.expiresInMs ?? 365 * DAY_MS);
  const claims: LicenseClaims = {
    account_id: "a",
    account_type: "salesforce",
    exp: seconds(expires + (options.graceMs ?? 0)),
    feature_set: options.featureSet ?? "premium",
    features: limitsOf(options),
    iat: seconds(now),
    iss: "test@testing.test",
    jti: randomUUID(),
    license_expires: seconds(expires),
    nbf: seconds(now + (options.startsInMs ?? -10 * 365 * DAY_MS)),
    trial: options.trial ?? false,
    version: 3,
  };
  return [encode({ alg: "none", typ: "JWT" }), encode(claims), "unsigned"].join(".");
}

function limitsOf({ seats, limits = {} }: FakeLicense): LicenseClaims["features"] {
  const all = { ...(seats === undefined ? {} : { user_limit: seats }), ...limits };
  return Object.keys(all).length > 0 ? all : null;
}

/** The claims of a fake license, or `undefined` for anything else. */
export function readLicense(jwt: string): LicenseClaims | undefined {
  const [, payload] = jwt.split(".");
  if (!payload) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    return typeof claims.jti === "string" && typeof claims.exp === "number" ? claims : undefined;
  } catch {
    return undefined;
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
