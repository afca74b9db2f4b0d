import { randomBytes } from "node:crypto";
import type { AccountContext } from "./account.ts";
import type { Table } from "./catalogue.ts";
import type { DatabaseSession } from "./session.ts";
import {
  type ApiKeyRow,
  hashSecret,
  type IssueReason,
  newToken,
  planApiKey,
  TOKEN_LIFETIME_MS,
  type TokenRequest,
} from "./token.ts";
import { isTrue, milliseconds } from "./values.ts";

/** The token to use, and whether the caller has yet to store it. */
export interface OperatorToken {
  readonly token: string;
  /** Milliseconds since the epoch. coderd extends it when the token is used. */
  readonly expiresAt: number;
  /** Set when this token is new: why there had to be one. */
  readonly issuedBecause?: IssueReason;
  /** Whether another token is valid beside a new one, until this one has been stored. */
  readonly hasPredecessor?: boolean;
}

/**
 * A key nobody is known to hold is left alone this long: another process may have made it a moment ago and be
 * about to store it.
 */
const HAND_OVER_MS = 5 * 60_000;

/** Keeps the caller's token when it is good, and issues another when it is not. */
export async function ensureApiKey(
  context: AccountContext,
  owner: { readonly userId: string; readonly tokenName: string },
  { held, ...request }: TokenRequest & { readonly held: string | undefined },
): Promise<OperatorToken> {
  const now = context.now.getTime();
  const keys = await readKeys(context, owner);
  const plan = planApiKey(held, keys, { now, ...request });
  if (plan.do === "keep") {
    const others = keys.filter((key) => key !== plan.key);
    await remove(context, others);
    if (plan.key.name !== owner.tokenName) await rename(context, plan.key, owner.tokenName);
    return { token: plan.token, expiresAt: plan.key.expiresAt };
  }
  const abandoned = keys.filter((key) => key !== plan.stillValid && key.createdAt <= now - HAND_OVER_MS);
  await remove(context, abandoned);
  const valid = keys.filter((key) => !abandoned.includes(key));
  const current = valid.find((key) => key.name === owner.tokenName);
  if (current) await rename(context, current, `${owner.tokenName}-${current.id}`);
  const issued = await issue(context, owner);
  return { ...issued, issuedBecause: plan.because, hasPredecessor: valid.length > 0 };
}

/** Ends every token of a control plane, and returns how many there were. */
export async function revokeApiKeys(
  session: DatabaseSession,
  owner: { readonly username: string; readonly tokenName: string },
): Promise<number> {
  const revoked = await session.query(
    `DELETE FROM api_keys k USING users u
     WHERE u.id = k.user_id AND lower(u.username) = $1 AND k.login_type = 'token'
       AND (k.token_name = $2 OR starts_with(k.token_name, $2 || '-'))
     RETURNING k.id`,
    [owner.username, owner.tokenName],
  );
  return revoked.length;
}

async function issue(
  { session, tables, now }: AccountContext,
  { userId, tokenName }: { userId: string; tokenName: string },
): Promise<{ token: string; expiresAt: number }> {
  const { id, secret } = newToken(randomBytes);
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
    token_name: tokenName,
    ip_address: "0.0.0.0",
    ...fullAccess(tables.api_keys),
  });
  return { token: `${id}-${secret}`, expiresAt };
}

/** One scope until 2.26, lists of scopes and of objects from 2.27 on. */
function fullAccess(table: Table): Record<string, unknown> {
  return {
    ...(table.has("scope") ? { scope: table.label("scope", "all", "coder:all") } : {}),
    ...(table.has("scopes") ? { scopes: [table.label("scopes", "coder:all", "all")] } : {}),
    ...(table.has("allow_list") ? { allow_list: ["*:*"] } : {}),
  };
}

async function readKeys(
  { session, tables }: AccountContext,
  { userId, tokenName }: { userId: string; tokenName: string },
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

async function remove({ session }: AccountContext, keys: readonly ApiKeyRow[]): Promise<void> {
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
