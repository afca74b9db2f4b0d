import { createHash, timingSafeEqual } from "node:crypto";
import { fnv1a64 } from "kube-controller-runtime";

/** The object a token belongs to: each has one of its own. */
export interface ControlPlane {
  readonly namespace: string;
  readonly name: string;
  /** Differs from cluster to cluster, also when namespace and name do not. */
  readonly uid: string;
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
  | "requested"
  | "copied";

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
export function tokenName({ namespace, name }: Pick<ControlPlane, "namespace" | "name">): string {
  return `coder-k8s-operator-${fnv1a64(`${namespace}\0${name}`)}`;
}

/** A token whose id tells which object it was made for. */
export function newToken(
  randomBytes: RandomBytes,
  uid: string,
): { readonly id: string; readonly secret: string } {
  const marked = writerMark(uid) + randomText(ID_LENGTH - WRITER_LENGTH - CHECK_LENGTH, randomBytes);
  return { id: marked + checkMark(marked), secret: randomText(SECRET_LENGTH, randomBytes) };
}

/*
 * Several clusters may have a control plane of the same namespace and name on one database: a restored clone, blue and
 * green. A cluster ends only the keys that it wrote. So the id of a key begins with a mark of the object's uid and ends
 * with a check of that. A mark in the row itself survives what a record in the cluster would not: a lost Secret, a crash
 * between the insert and the record, a backup that was restored. Earlier versions wrote keys without a mark: such a key
 * counts as that of the cluster whose Secret holds it.
 */
const [WRITER_LENGTH, CHECK_LENGTH] = [4, 2];

/** Whether the key was written for the object with this uid, as far as its id and the tokens that are held tell. */
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

/** Whether a token was made for another object than the one with this uid: somebody has copied it. */
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

/** Decides about the caller's token from the keys stored for its control plane. */
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

/** Takes only bytes below the largest multiple of the alphabet's size, so that all letters are as likely. */
function randomText(length: number, randomBytes: RandomBytes): string {
  const limit = 256 - (256 % ALPHABET.length);
  let text = "";
  while (text.length < length)
    for (const byte of randomBytes(length))
      if (byte < limit && text.length < length) text += ALPHABET[byte % ALPHABET.length];
  return text;
}
