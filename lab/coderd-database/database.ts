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

/** What may happen to a database without the operator. */
export type Misdeed =
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
  | "user who is no system user"
  | "session of an intruder"
  | "membership deleted"
  | "membership without a role"
  | "another organization, and a deleted one"
  | "name taken by a person"
  | "name freed by that person";

/** coderd's database as a test sees it, wherever it is kept. */
export interface CoderdDatabase {
  readonly url: string;
  /** Those who are not deleted. */
  users(): Promise<readonly UserRow[]>;
  /** The roles of every membership. */
  memberships(): Promise<readonly (readonly string[])[]>;
  keys(): Promise<readonly KeyRow[]>;
  /** Whom coderd takes the holder of a token for. The caller closes it. */
  accounts(): Accounts;
  suffer(misdeed: Misdeed): Promise<void>;
}

/** Databases, and the operator's way to them. */
export interface CoderdDatabases<D extends CoderdDatabase = CoderdDatabase> {
  readonly access: OperatorAccess;
  /** Connections opened, or tried, so far. */
  readonly connections: number;
  create(): Promise<D>;
  close(): Promise<void>;
}

/** Asks as coderd would whether it accepts a token, and whose it is. */
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
