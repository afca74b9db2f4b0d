import { randomBytes, randomUUID } from "node:crypto";
import { DatabaseProblem } from "../../src/coder/operator-access/failure.ts";
import type { OperatorToken } from "../../src/coder/operator-access/keys.ts";
import {
  hashSecret,
  isOwnKey,
  newToken,
  planApiKey,
  TOKEN_LIFETIME_MS,
  type TokenRequest,
} from "../../src/coder/operator-access/token.ts";
import type { MemoryKey, MemoryUser, Tables } from "./tables.ts";

const USERNAME = "coder-k8s-operator";
const EMAIL = "coder-k8s-operator@coder-k8s.invalid";
const ADMIN = "organization-admin";
const HAND_OVER_MS = 5 * 60_000;

/** The tables after a transaction, and its result. */
export interface Outcome<T> {
  readonly tables: Tables;
  readonly result: T;
}

interface KeyRequest extends TokenRequest {
  readonly uid: string;
  readonly tokenName: string;
  readonly held: string | undefined;
  readonly now: number;
}

/**
 * Operator access on in-memory tables, atomic like a transaction: the contract suite compares it with SQL.
 */
export function ensureTokenIn(before: Tables, request: KeyRequest): Outcome<OperatorToken> {
  const { tables, user } = withAccount(before);
  return withKey(tables, user, request);
}

/** Revokes the tokens with a name that one cluster created. */
export function revokeTokensIn(
  tables: Tables,
  { tokenName, ...writer }: { tokenName: string; uid: string; held: readonly string[] },
): Outcome<number> {
  const operators = tables.users.filter(({ username }) => username.toLowerCase() === USERNAME);
  const revoked = tables.keys.filter(
    (key) =>
      isOwnKey(key, writer) && operators.some((user) => user.id === key.userId && isNamed(key, tokenName)),
  );
  return { tables: withoutKeys(tables, revoked), result: revoked.length };
}

function withAccount(tables: Tables): { tables: Tables; user: MemoryUser } {
  const found = tables.users.filter(
    ({ deleted, username, email }) =>
      !deleted && (username.toLowerCase() === USERNAME || email.toLowerCase() === EMAIL),
  );
  const [present, ...others] = found;
  if (present && (others.length > 0 || !isOurs(present))) throw accountTaken();
  const user = righted(present);
  const kept =
    present && !cannotLogIn(present) ? tables.keys.filter((key) => key.userId !== present.id) : tables.keys;
  const users = [...tables.users.filter((each) => each !== present), user];
  return { tables: { ...tables, users, keys: kept, memberships: memberships(tables, user) }, user };
}

function cannotLogIn({ loginType, isSystem }: MemoryUser): boolean {
  return loginType === "none" && isSystem;
}

function isOurs(user: MemoryUser): boolean {
  return cannotLogIn(user) || user.email.toLowerCase() === EMAIL;
}

function righted(user: MemoryUser | undefined): MemoryUser {
  const roles = user?.roles ?? [];
  return {
    id: user?.id ?? randomUUID(),
    username: USERNAME,
    email: EMAIL,
    status: "active",
    roles: roles.includes("owner") ? roles : [...roles, "owner"],
    loginType: "none",
    isSystem: true,
    deleted: false,
  };
}

function memberships(
  { memberships: present, organizations }: Tables,
  user: MemoryUser,
): Tables["memberships"] {
  const wanted = organizations.filter(({ deleted }) => !deleted);
  const isWanted = (row: Tables["memberships"][number]) =>
    row.userId === user.id && wanted.some(({ id }) => id === row.organizationId);
  const ours = wanted.map(({ id }) => {
    const row = present.find((each) => each.userId === user.id && each.organizationId === id);
    const roles = row?.roles ?? [];
    return { userId: user.id, organizationId: id, roles: roles.includes(ADMIN) ? roles : [...roles, ADMIN] };
  });
  return [...present.filter((row) => !isWanted(row)), ...ours];
}

function withKey(
  tables: Tables,
  { id: userId }: MemoryUser,
  { tokenName, held, ...request }: KeyRequest,
): Outcome<OperatorToken> {
  const keys = tables.keys.filter((key) => key.userId === userId && isNamed(key, tokenName));
  const plan = planApiKey(held, keys, request);
  const { now, uid } = request;
  const isOwn = (key: MemoryKey) => isOwnKey(key, { uid, held: held ? [held] : [] });
  if (plan.do === "keep") {
    const others = keys.filter(({ id }) => id !== plan.key.id);
    const left = withoutKeys(
      tables,
      others.filter((key) => isOwn(key) || key.expiresAt <= now),
    );
    const result = { token: plan.token, expiresAt: plan.key.expiresAt };
    const isTaken = left.keys.some(({ id, name }) => id !== plan.key.id && name === tokenName);
    return { tables: isTaken ? left : renamed(left, plan.key.id, tokenName), result };
  }
  const ended = keys
    .filter((key) => key !== plan.stillValid)
    .filter((key) => key.expiresAt <= now || (isOwn(key) && key.createdAt <= now - HAND_OVER_MS));
  const valid = keys.filter((key) => !ended.includes(key));
  const current = valid.find(({ name }) => name === tokenName);
  const left = withoutKeys(tables, ended);
  const isTaken = current !== undefined && !isOwn(current);
  const moved = current && !isTaken ? renamed(left, current.id, `${tokenName}-${current.id}`) : left;
  const { id, secret } = newToken(randomBytes, uid);
  const key: MemoryKey = {
    id,
    userId,
    name: isTaken ? `${tokenName}-${id}` : tokenName,
    isToken: true,
    hashedSecret: hashSecret(secret),
    expiresAt: now + TOKEN_LIFETIME_MS,
    createdAt: now,
    fullAccess: true,
  };
  const issued = { token: `${id}-${secret}`, expiresAt: key.expiresAt };
  const result = { ...issued, issuedBecause: plan.because, hasPredecessor: valid.some(isOwn) };
  return { tables: { ...moved, keys: [...moved.keys, key] }, result };
}

function isNamed({ name, isToken }: MemoryKey, tokenName: string): boolean {
  return isToken && (name === tokenName || name.startsWith(`${tokenName}-`));
}

function withoutKeys(tables: Tables, gone: readonly MemoryKey[]): Tables {
  return { ...tables, keys: tables.keys.filter((key) => !gone.includes(key)) };
}

function renamed(tables: Tables, id: string, name: string): Tables {
  return { ...tables, keys: tables.keys.map((key) => (key.id === id ? { ...key, name } : key)) };
}

function accountTaken(): DatabaseProblem {
  const message = `A coderd user that the operator did not create has the name ${USERNAME}; rename that user.`;
  return new DatabaseProblem("accountTaken", message);
}
