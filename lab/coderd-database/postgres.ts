import type { Clock } from "kube-controller-runtime";
import { unfenced } from "kube-controller-runtime/testing";
import { type OperatorAccess, operatorAccess } from "../../src/coder/operator-access/access.ts";
import { connectPostgres } from "../../src/coder/operator-access/session.ts";
import { type Accounts, PostgresAccounts } from "../coderd/accounts.ts";
import type { Database, Databases, Schema } from "../postgres.ts";
import type { CoderdDatabase, CoderdDatabases, KeyRow, Misbehavior, UserRow } from "./database.ts";

const PERSON = `INSERT INTO users (id, email, username, hashed_password, created_at, updated_at)
  VALUES (gen_random_uuid(), 'someone@example.com', 'coder-k8s-operator', '', now(), now())`;
const SESSION = `INSERT INTO api_keys
    (id, hashed_secret, user_id, last_used, expires_at, created_at, updated_at, login_type, scopes, allow_list)
  SELECT 'intruder00', '\\x00', id, now(), now() + interval '1 day', now(), now(), 'password', '{coder:all}', '{*:*}'
  FROM users`;
const ORGANIZATIONS = `INSERT INTO organizations
    (id, name, description, created_at, updated_at, display_name, deleted, default_org_member_roles)
  SELECT gen_random_uuid(), n, '', now(), now(), n, n = 'gone', '{}' FROM unnest(ARRAY['late', 'gone']) n`;

const STATEMENTS: Readonly<Record<Misbehavior, string>> = {
  "keys deleted": "DELETE FROM api_keys",
  "keys given another hash": "UPDATE api_keys SET hashed_secret = '\\x00'",
  "keys expired": "UPDATE api_keys SET expires_at = now() - interval '1 minute'",
  "keys about to end": "UPDATE api_keys SET expires_at = now() + interval '29 days'",
  "keys extended by 200 days": "UPDATE api_keys SET expires_at = expires_at + interval '200 days'",
  "keys restricted": "UPDATE api_keys SET scopes = '{coder:application_connect}'",
  "keys renamed": "UPDATE api_keys SET token_name = 'mine'",
  "user deleted": "UPDATE users SET deleted = true",
  "user without a role": "UPDATE users SET rbac_roles = '{}'",
  "user suspended": "UPDATE users SET status = 'suspended'",
  "user with another address": "UPDATE users SET email = 'x@example.com'",
  "user with another name": "UPDATE users SET username = 'renamed'",
  "user who logs in by password": "UPDATE users SET login_type = 'password'",
  "user who is not a system user": "UPDATE users SET is_system = false",
  "session of an intruder": SESSION,
  "membership deleted": "DELETE FROM organization_members",
  "membership without a role": "UPDATE organization_members SET roles = '{}'",
  "another organization, and a deleted one": ORGANIZATIONS,
  "name taken by a person": PERSON,
  "name freed by that person": "UPDATE users SET username = 'someone' WHERE email = 'someone@example.com'",
};

/** A database of a real Postgres, with coderd's tables. */
export class PostgresCoderdDatabase implements CoderdDatabase {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get url(): string {
    return this.#database.url;
  }

  query: Database["query"] = (sql, values) => this.#database.query(sql, values);

  async users(): Promise<readonly UserRow[]> {
    const rows = await this.query(
      `SELECT username, email, status::text, rbac_roles AS roles, login_type::text AS "loginType",
         is_system AS "isSystem"
       FROM users WHERE NOT deleted`,
    );
    return rows as unknown as UserRow[];
  }

  async memberships(): Promise<readonly (readonly string[])[]> {
    const rows = await this.query("SELECT roles FROM organization_members");
    return rows.map(({ roles }) => roles as string[]);
  }

  async keys(): Promise<readonly KeyRow[]> {
    return (await this.query("SELECT id, token_name AS name FROM api_keys")) as unknown as KeyRow[];
  }

  accounts(): Accounts {
    return new PostgresAccounts(this.url);
  }

  async suffer(misdeed: Misbehavior): Promise<void> {
    await this.query(STATEMENTS[misdeed]);
  }
}

/** Databases of a real Postgres, which also test `pg`. */
export class PostgresDatabases implements CoderdDatabases<PostgresCoderdDatabase> {
  readonly #postgres: Databases;
  readonly #watched: WatchedDatabase;

  constructor(postgres: Databases, clock: Clock) {
    this.#postgres = postgres;
    this.#watched = new WatchedDatabase(clock);
  }

  get access(): OperatorAccess {
    return this.#watched;
  }

  get connections(): number {
    return this.#watched.connections;
  }

  async create(schema: Schema = "migrated"): Promise<PostgresCoderdDatabase> {
    return new PostgresCoderdDatabase(await this.#postgres.createDatabase(schema));
  }

  close(): Promise<void> {
    return this.#postgres.stop();
  }
}

/** The real access to coderd's database, with a count of connections. */
class WatchedDatabase implements OperatorAccess {
  /** Number of connection attempts so far. */
  connections = 0;
  readonly #access: OperatorAccess;

  constructor(clock: Clock) {
    this.#access = operatorAccess({
      clock,
      fence: unfenced,
      connect: (...way) => {
        this.connections++;
        return connectPostgres(...way);
      },
    });
  }

  ensureToken: OperatorAccess["ensureToken"] = (...call) => this.#access.ensureToken(...call);

  revokeToken: OperatorAccess["revokeToken"] = (...call) => this.#access.revokeToken(...call);

  inspect: OperatorAccess["inspect"] = (target, tokenNames) => this.#access.inspect(target, tokenNames);
}
