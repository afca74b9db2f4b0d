import { randomBytes } from "node:crypto";
import type { AccountContext } from "./account.ts";
import type { Table } from "./catalog.ts";
import type { DatabaseSession } from "./session.ts";
import {
  type ApiKeyRow,
  hashSecret,
  type IssueReason,
  isOwnKey,
  newToken,
  planApiKey,
  TOKEN_LIFETIME_MS,
  type TokenRequest,
} from "./token.ts";
import { isTrue, milliseconds } from "./values.ts";

/** The token to use, and whether the caller must store it. */
export interface OperatorToken {
  readonly token: string;
  /** Milliseconds since the epoch. coderd extends it when the token is used. */
  readonly expiresAt: number;
  /** Set if the token is new: why it was issued. */
  readonly issuedBecause?: IssueReason;
  /** Whether another token remains valid until the new one is stored. */
  readonly hasPredecessor?: boolean;
}

/**
 * Keys younger than this are kept even if no token for them is known: another process may have created the
 * key and be about to store it.
 */
const HAND_OVER_MS = 5 * 60_000;

/** Owner of the keys: the system user and the name of the control plane's token. */
interface KeyOwner {
  readonly userId: string;
  readonly tokenName: string;
  /** UID of the control plane, because keys with this name may belong to another cluster. */
  readonly uid: string;
}

/**
 * Keeps the caller's token if it is valid; otherwise issues a new one. Deletes expired keys, and unused keys
 * that this cluster created. Keeps keys of other clusters.
 */
export async function ensureApiKey(
  context: AccountContext,
  owner: KeyOwner,
  { held, ...request }: TokenRequest & { readonly held: string | undefined },
): Promise<OperatorToken> {
  const now = context.now.getTime();
  const keys = await readKeys(context, owner);
  const plan = planApiKey(held, keys, { now, uid: owner.uid, ...request });
  const isOwn = (key: ApiKeyRow) => isOwnKey(key, { uid: owner.uid, held: held === undefined ? [] : [held] });
  const isExpired = ({ expiresAt }: ApiKeyRow) => expiresAt <= now;
  if (plan.do === "keep") {
    const others = keys.filter((key) => key !== plan.key);
    const ended = others.filter((key) => isOwn(key) || isExpired(key));
    await remove(context, ended);
    const isTaken = others.some((key) => key.name === owner.tokenName && !ended.includes(key));
    if (!isTaken && plan.key.name !== owner.tokenName) await rename(context, plan.key, owner.tokenName);
    return { token: plan.token, expiresAt: plan.key.expiresAt };
  }
  const isAbandoned = (key: ApiKeyRow) => isOwn(key) && key.createdAt <= now - HAND_OVER_MS;
  const ended = keys.filter((key) => key !== plan.stillValid && (isAbandoned(key) || isExpired(key)));
  await remove(context, ended);
  const valid = keys.filter((key) => !ended.includes(key));
  const current = valid.find((key) => key.name === owner.tokenName);
  if (current && isOwn(current)) await rename(context, current, `${owner.tokenName}-${current.id}`);
  const issued = await issue(context, owner, { isNameTaken: current !== undefined && !isOwn(current) });
  return { ...issued, issuedBecause: plan.because, hasPredecessor: valid.some(isOwn) };
}

/** Deletes the keys of a control plane that this cluster created, and returns their number. */
export async function revokeApiKeys(
  session: DatabaseSession,
  owner: Pick<KeyOwner, "tokenName" | "uid"> & {
    readonly username: string;
    readonly held: readonly string[];
  },
): Promise<number> {
  const rows = await session.query(
    `SELECT k.id, encode(k.hashed_secret, 'hex') AS hashed_secret FROM api_keys k JOIN users u ON u.id = k.user_id
     WHERE lower(u.username) = $1 AND k.login_type = 'token'
       AND (k.token_name = $2 OR starts_with(k.token_name, $2 || '-'))`,
    [owner.username, owner.tokenName],
  );
  const keys = rows.map((row) => ({
    id: String(row.id),
    hashedSecret: Buffer.from(String(row.hashed_secret), "hex"),
  }));
  const own = keys.filter((key) => isOwnKey(key, owner));
  await remove({ session }, own);
  return own.length;
}

/** The token names of a user must be unique in coderd. */
async function issue(
  { session, tables, now }: AccountContext,
  { userId, tokenName, uid }: KeyOwner,
  { isNameTaken }: { readonly isNameTaken: boolean },
): Promise<{ token: string; expiresAt: number }> {
  const { id, secret } = newToken(randomBytes, uid);
  const expiresAt = now.getTime() + TOKEN_LIFETIME_MS;
  await tables.api_keys.insert(session, {
    id,
    hashed_secret: hashSecret(secret),
    user_id: userId,
    last_used: now,
    expires_at: new Date(expiresAt),
    created_at: now,
    updated_at: now,
    login_type: tables.api_keys.label("login_type", "token"),
    lifetime_seconds: TOKEN_LIFETIME_MS / 1_000,
    token_name: isNameTaken ? `${tokenName}-${id}` : tokenName,
    ip_address: "0.0.0.0",
    ...fullAccess(tables.api_keys),
  });
  return { token: `${id}-${secret}`, expiresAt };
}

/** One scope up to 2.26; lists of scopes and objects since 2.27. */
function fullAccess(table: Table): Record<string, unknown> {
  return {
    ...(table.has("scope") ? { scope: table.label("scope", "all", "coder:all") } : {}),
    ...(table.has("scopes") ? { scopes: [table.label("scopes", "coder:all", "all")] } : {}),
    ...(table.has("allow_list") ? { allow_list: ["*:*"] } : {}),
  };
}

async function readKeys(
  { session, tables }: AccountContext,
  { userId, tokenName }: KeyOwner,
): Promise<ApiKeyRow[]> {
  const checks = [
    ...(tables.api_keys.has("scope") ? ["scope::text IN ('all', 'coder:all')"] : []),
    ...(tables.api_keys.has("scopes") ? ["scopes::text[] && ARRAY['all', 'coder:all']"] : []),
    ...(tables.api_keys.has("allow_list") ? ["allow_list @> ARRAY['*:*']"] : []),
  ];
  const rows = await session.query(
    `SELECT id, token_name, encode(hashed_secret, 'hex') AS hashed_secret,
            extract(epoch FROM expires_at) AS expires_at, extract(epoch FROM created_at) AS created_at,
            ${checks.join(" AND ") || "true"} AS full_access
     FROM api_keys
     WHERE user_id = $1 AND login_type = 'token'
       AND (token_name = $2 OR starts_with(token_name, $2 || '-'))
     FOR UPDATE`,
    [userId, tokenName],
  );
  return rows.map((row) => ({
    id: String(row.id),
    name: String(row.token_name),
    hashedSecret: Buffer.from(String(row.hashed_secret), "hex"),
    expiresAt: milliseconds(row.expires_at),
    createdAt: milliseconds(row.created_at),
    fullAccess: isTrue(row.full_access),
  }));
}

async function remove(
  { session }: Pick<AccountContext, "session">,
  keys: readonly Pick<ApiKeyRow, "id">[],
): Promise<void> {
  if (keys.length === 0) return;
  await session.query("DELETE FROM api_keys WHERE id = ANY ($1)", [keys.map(({ id }) => id)]);
}

async function rename({ session, now }: AccountContext, key: ApiKeyRow, name: string): Promise<void> {
  await session.query("UPDATE api_keys SET token_name = $2, updated_at = $3 WHERE id = $1", [
    key.id,
    name,
    now,
  ]);
}
