import { createHash, timingSafeEqual } from "node:crypto";
import { fnv1a64 } from "kube-controller-runtime";

/** The object a token belongs to: each has one of its own. */
export interface ControlPlane {
  readonly namespace: string;
  readonly name: string;
}

/** Bytes that nobody can guess; injected so that tests know them. */
type RandomBytes = (size: number) => Uint8Array;

/** A key of ours as the database has it. */
export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly hashedSecret: Uint8Array;
  readonly expiresAt: number;
  readonly createdAt: number;
  /** Whether it may do everything its user may. */
  readonly fullAccess: boolean;
}

/** Why a token is replaced. */
export type IssueReason =
  | "missing"
  | "unknown"
  | "wrongSecret"
  | "restricted"
  | "expired"
  | "expiring"
  | "requested";

export interface TokenRequest {
  /** Another token is wanted, even if the held one is good. */
  readonly replace?: boolean;
}

/** What to do about the token that the caller holds. */
type ApiKeyPlan =
  | { readonly do: "keep"; readonly key: ApiKeyRow; readonly token: string }
  /** `stillValid` is the key in use until the new one takes over, if there is one. */
  | { readonly do: "issue"; readonly because: IssueReason; readonly stillValid?: ApiKeyRow };

const DAY_MS = 24 * 60 * 60 * 1_000;
export const TOKEN_LIFETIME_MS = 365 * DAY_MS;
/** A token is replaced this long before its end, so that weeks of a broken database do no harm. */
export const RENEW_BEFORE_MS = 30 * DAY_MS;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 10;
const SECRET_LENGTH = 22;
const TOKEN = new RegExp(`^([A-Za-z0-9]{${ID_LENGTH}})-([A-Za-z0-9]{${SECRET_LENGTH}})$`);

/** The name under which coderd shows the token of a control plane. */
export function tokenName({ namespace, name }: ControlPlane): string {
  return `coder-k8s-operator-${fnv1a64(`${namespace}\0${name}`)}`;
}

export function newToken(randomBytes: RandomBytes): { readonly id: string; readonly secret: string } {
  return { id: randomText(ID_LENGTH, randomBytes), secret: randomText(SECRET_LENGTH, randomBytes) };
}

export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Decides about the caller's token from the keys stored for its control plane. */
export function planApiKey(
  held: string | undefined,
  keys: readonly ApiKeyRow[],
  { now, replace = false }: TokenRequest & { readonly now: number },
): ApiKeyPlan {
  const token = held?.trim();
  if (!token) return { do: "issue", because: "missing" };
  const [, id, secret = ""] = TOKEN.exec(token) ?? [];
  const key = keys.find((candidate) => candidate.id === id);
  if (!key) return { do: "issue", because: "unknown" };
  if (!matches(secret, key.hashedSecret)) return { do: "issue", because: "wrongSecret" };
  if (key.expiresAt <= now) return { do: "issue", because: "expired" };
  if (replace) return { do: "issue", because: "requested", stillValid: key };
  if (!key.fullAccess) return { do: "issue", because: "restricted", stillValid: key };
  if (key.expiresAt - now < RENEW_BEFORE_MS) return { do: "issue", because: "expiring", stillValid: key };
  return { do: "keep", key, token };
}

function matches(secret: string, hash: Uint8Array): boolean {
  const actual = hashSecret(secret);
  return actual.length === hash.length && timingSafeEqual(actual, hash);
}

/** Takes only bytes below the largest multiple of the alphabet's size, so that all letters are as likely. */
function randomText(length: number, randomBytes: RandomBytes): string {
  const limit = 256 - (256 % ALPHABET.length);
  let text = "";
  while (text.length < length)
    for (const byte of randomBytes(length))
      if (byte < limit && text.length < length) text += ALPHABET[byte % ALPHABET.length];
  return text;
}
