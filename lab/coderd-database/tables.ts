import { createHash, randomUUID } from "node:crypto";
import type { ApiKeyRow } from "../../src/coder/operator-access/token.ts";
import type { Account } from "../coderd/accounts.ts";
import type { Misbehavior, UserRow } from "./database.ts";

export interface MemoryUser extends UserRow {
  readonly id: string;
  readonly deleted: boolean;
}

export interface MemoryKey extends ApiKeyRow {
  readonly userId: string;
  readonly isToken: boolean;
}

interface Organization {
  readonly id: string;
  readonly deleted: boolean;
}

interface Membership {
  readonly userId: string;
  readonly organizationId: string;
  readonly roles: readonly string[];
}

/** The rows that operator access uses. Rows are replaced, never changed. */
export interface Tables {
  readonly users: readonly MemoryUser[];
  readonly organizations: readonly Organization[];
  readonly memberships: readonly Membership[];
  readonly keys: readonly MemoryKey[];
}

/** The rows after coderd's first start. */
export function freshTables(): Tables {
  return { users: [], organizations: [{ id: randomUUID(), deleted: false }], memberships: [], keys: [] };
}

const DAY_MS = 24 * 60 * 60_000;
const PERSON = "someone@example.com";

const keys =
  (change: (key: MemoryKey, now: number) => Partial<MemoryKey>) => (tables: Tables, now: number) => ({
    ...tables,
    keys: tables.keys.map((key) => ({ ...key, ...change(key, now) })),
  });
const users =
  (change: Partial<MemoryUser>, picks: (user: MemoryUser) => boolean = () => true) =>
  (tables: Tables) => ({
    ...tables,
    users: tables.users.map((user) => (picks(user) ? { ...user, ...change } : user)),
  });

/** The tables after the change. */
export function suffered(tables: Tables, misdeed: Misbehavior, now: number): Tables {
  return MISDEEDS[misdeed](tables, now);
}

const MISDEEDS: Readonly<Record<Misbehavior, (tables: Tables, now: number) => Tables>> = {
  "keys deleted": (tables) => ({ ...tables, keys: [] }),
  "keys given another hash": keys(() => ({ hashedSecret: Uint8Array.of(0) })),
  "keys expired": keys((_, now) => ({ expiresAt: now - 60_000 })),
  "keys about to end": keys((_, now) => ({ expiresAt: now + 29 * DAY_MS })),
  "keys extended by 200 days": keys(({ expiresAt }) => ({ expiresAt: expiresAt + 200 * DAY_MS })),
  "keys restricted": keys(() => ({ fullAccess: false })),
  "keys renamed": keys(() => ({ name: "mine" })),
  // A trigger of coderd.
  "user deleted": (tables) => ({ ...users({ deleted: true })(tables), keys: [], memberships: [] }),
  "user without a role": users({ roles: [] }),
  "user suspended": users({ status: "suspended" }),
  "user with another address": users({ email: "x@example.com" }),
  "user with another name": users({ username: "renamed" }),
  "user who logs in by password": users({ loginType: "password" }),
  "user who is not a system user": users({ isSystem: false }),
  "session of an intruder": (tables, now) => ({
    ...tables,
    keys: [...tables.keys, ...intruders(tables, now)],
  }),
  "membership deleted": (tables) => ({ ...tables, memberships: [] }),
  "membership without a role": (tables) => ({
    ...tables,
    memberships: tables.memberships.map((membership) => ({ ...membership, roles: [] })),
  }),
  "another organization, and a deleted one": (tables) => ({
    ...tables,
    organizations: [
      ...tables.organizations,
      { id: randomUUID(), deleted: false },
      { id: randomUUID(), deleted: true },
    ],
  }),
  "name taken by a person": (tables) => ({ ...tables, users: [...tables.users, person()] }),
  "name freed by that person": users({ username: "someone" }, ({ email }) => email === PERSON),
};

function intruders({ users: all }: Tables, now: number): MemoryKey[] {
  return all.map(({ id }) => ({
    id: "intruder00",
    userId: id,
    name: "",
    isToken: false,
    hashedSecret: Uint8Array.of(0),
    expiresAt: now + DAY_MS,
    createdAt: now,
    fullAccess: true,
  }));
}

function person(): MemoryUser {
  return {
    id: randomUUID(),
    username: "coder-k8s-operator",
    email: PERSON,
    status: "dormant",
    roles: [],
    loginType: "password",
    isSystem: false,
    deleted: false,
  };
}

/** The account of a token, as coderd looks it up. */
export function accountOf(
  { keys: all, users: people }: Tables,
  token: string,
  now: number,
): Account | undefined {
  const [id, secret = ""] = token.split("-");
  const key = all.find((each) => each.id === id);
  const hash = createHash("sha256").update(secret).digest();
  if (!key || !hash.equals(key.hashedSecret) || key.expiresAt <= now) return undefined;
  const user = people.find((each) => each.id === key.userId);
  if (!user || user.deleted || user.status !== "active") return undefined;
  const { username, email, loginType, roles } = user;
  const createdAt = new Date(now).toISOString();
  return {
    id: user.id,
    username,
    name: username,
    email,
    loginType,
    owner: roles.includes("owner"),
    createdAt,
  };
}
