import { createHash, timingSafeEqual } from "node:crypto";
import { fnv1a64 } from "kube-controller-runtime";

/** The control plane that a token belongs to. Each has its own token. */
export interface ControlPlane {
  readonly namespace: string;
  readonly name: string;
  /** Differs between clusters even if namespace and name are the same. */
  readonly uid: string;
}

/** Cryptographically random bytes. Injected so that tests are deterministic. */
type RandomBytes = (size: number) => Uint8Array;

/** A key of the operator in the database. */
export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly hashedSecret: Uint8Array;
  readonly expiresAt: number;
  readonly createdAt: number;
  /** Whether the key has all permissions of its user. */
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
  | "requested"
  | "copied";

export interface TokenRequest {
  /** Replaces the held token even if it is valid. */
  readonly replace?: boolean;
}

/** What to do with the held token. */
type ApiKeyPlan =
  | { readonly do: "keep"; readonly key: ApiKeyRow; readonly token: string }
  /** `stillValid` is the key in use until the new one replaces it, if any. */
  | { readonly do: "issue"; readonly because: IssueReason; readonly stillValid?: ApiKeyRow };

const DAY_MS = 24 * 60 * 60 * 1_000;
export const TOKEN_LIFETIME_MS = 365 * DAY_MS;
/** Tokens are renewed this long before they expire, so that weeks of database problems do no harm. */
export const RENEW_BEFORE_MS = 30 * DAY_MS;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 10;
const SECRET_LENGTH = 22;
const TOKEN = new RegExp(`^([A-Za-z0-9]{${ID_LENGTH}})-([A-Za-z0-9]{${SECRET_LENGTH}})$`);

/** Token name of a control plane in coderd. */
export function tokenName({ namespace, name }: Pick<ControlPlane, "namespace" | "name">): string {
  return `coder-k8s-operator-${fnv1a64(`${namespace}\0${name}`)}`;
}

/** Creates a token whose ID contains a mark of its control plane. */
export function newToken(
  randomBytes: RandomBytes,
  uid: string,
): { readonly id: string; readonly secret: string } {
  const marked = writerMark(uid) + randomText(ID_LENGTH - WRITER_LENGTH - CHECK_LENGTH, randomBytes);
  return { id: marked + checkMark(marked), secret: randomText(SECRET_LENGTH, randomBytes) };
}

/*
 * Several clusters may have a control plane with the same namespace and name on one database, such as a
 * restored clone or blue-green clusters. A cluster deletes only keys that it created. Therefore, the ID of a
 * key starts with a mark of the object's UID and ends with a checksum of the mark. A mark in the row itself
 * survives events that a record in the cluster would not: a lost Secret, a crash between the insert and the
 * record, or a restored backup. Earlier versions created keys without a mark; such a key belongs to the
 * cluster whose Secret contains it.
 */
const [WRITER_LENGTH, CHECK_LENGTH] = [4, 2];

/** Whether the key was created for the object with this UID, based on its ID and the held tokens. */
export function isOwnKey(
  { id, hashedSecret }: Pick<ApiKeyRow, "id" | "hashedSecret">,
  { uid, held }: { readonly uid: string; readonly held: readonly string[] },
): boolean {
  if (isMarked(id)) return id.startsWith(writerMark(uid));
  return held.some((token) => {
    const [, heldId, secret = ""] = TOKEN.exec(token.trim()) ?? [];
    return heldId === id && matches(secret, hashedSecret);
  });
}

/** Whether the token was created for an object with a different UID, that is, whether it was copied. */
export function isCopiedToken(token: string, uid: string): boolean {
  const [, id = ""] = TOKEN.exec(token.trim()) ?? [];
  return isMarked(id) && !id.startsWith(writerMark(uid));
}

function isMarked(id: string): boolean {
  return id.length === ID_LENGTH && checkMark(id.slice(0, -CHECK_LENGTH)) === id.slice(-CHECK_LENGTH);
}

function writerMark(uid: string): string {
  return mark(`writer\0${uid}`, WRITER_LENGTH);
}

function checkMark(marked: string): string {
  return mark(`check\0${marked}`, CHECK_LENGTH);
}

function mark(text: string, length: number): string {
  const digest = createHash("sha256").update(text).digest();
  return [...digest.subarray(0, length)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Decides what to do with the held token, based on the keys stored for its control plane. */
export function planApiKey(
  held: string | undefined,
  keys: readonly ApiKeyRow[],
  { now, uid, replace = false }: TokenRequest & { readonly now: number; readonly uid: string },
): ApiKeyPlan {
  const token = held?.trim();
  if (!token) return { do: "issue", because: "missing" };
  const [, id, secret = ""] = TOKEN.exec(token) ?? [];
  const key = keys.find((candidate) => candidate.id === id);
  if (!key) return { do: "issue", because: "unknown" };
  if (!matches(secret, key.hashedSecret)) return { do: "issue", because: "wrongSecret" };
  if (key.expiresAt <= now) return { do: "issue", because: "expired" };
  if (replace) return { do: "issue", because: "requested", stillValid: key };
  if (isCopiedToken(token, uid)) return { do: "issue", because: "copied", stillValid: key };
  if (!key.fullAccess) return { do: "issue", because: "restricted", stillValid: key };
  if (key.expiresAt - now < RENEW_BEFORE_MS) return { do: "issue", because: "expiring", stillValid: key };
  return { do: "keep", key, token };
}

function matches(secret: string, hash: Uint8Array): boolean {
  const actual = hashSecret(secret);
  return actual.length === hash.length && timingSafeEqual(actual, hash);
}

/**
 * Rejects bytes above the largest multiple of the alphabet's size, so that all letters have the same
 * probability.
 */
function randomText(length: number, randomBytes: RandomBytes): string {
  const limit = 256 - (256 % ALPHABET.length);
  let text = "";
  while (text.length < length)
    for (const byte of randomBytes(length))
      if (byte < limit && text.length < length) text += ALPHABET[byte % ALPHABET.length];
  return text;
}
