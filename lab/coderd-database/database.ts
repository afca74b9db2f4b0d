import type { OperatorAccess } from "../../src/coder/operator-access/access.ts";
import type { Accounts } from "../coderd/accounts.ts";

export interface UserRow {
  readonly username: string;
  readonly email: string;
  readonly status: string;
  readonly roles: readonly string[];
  readonly loginType: string;
  readonly isSystem: boolean;
}

export interface KeyRow {
  readonly id: string;
  readonly name: string;
}

/** Changes of a database that the operator did not make. */
export type Misbehavior =
  | "keys deleted"
  | "keys given another hash"
  | "keys expired"
  | "keys about to end"
  | "keys extended by 200 days"
  | "keys restricted"
  | "keys renamed"
  | "user deleted"
  | "user without a role"
  | "user suspended"
  | "user with another address"
  | "user with another name"
  | "user who logs in by password"
  | "user who is not a system user"
  | "session of an intruder"
  | "membership deleted"
  | "membership without a role"
  | "another organization, and a deleted one"
  | "name taken by a person"
  | "name freed by that person";

/** coderd's database as a test sees it, in memory or in Postgres. */
export interface CoderdDatabase {
  readonly url: string;
  /** Users that are not deleted. */
  users(): Promise<readonly UserRow[]>;
  /** The roles of every membership. */
  memberships(): Promise<readonly (readonly string[])[]>;
  keys(): Promise<readonly KeyRow[]>;
  /** The account of a token, as coderd determines it. The caller closes it. */
  accounts(): Accounts;
  suffer(misdeed: Misbehavior): Promise<void>;
}

/** Databases, and the operator's access to them. */
export interface CoderdDatabases<D extends CoderdDatabase = CoderdDatabase> {
  readonly access: OperatorAccess;
  /** Number of connection attempts so far. */
  readonly connections: number;
  create(): Promise<D>;
  close(): Promise<void>;
}

/** Checks whether coderd would accept a token, and for which user. */
export async function acceptedAs(
  database: CoderdDatabase,
  token: string | undefined,
  now: number,
): Promise<string | undefined> {
  const accounts = database.accounts();
  const account = await accounts.find(token ?? "", now);
  await accounts.close();
  return account && `${account.username}${account.owner ? " (owner)" : ""}`;
}
