import { createHash, randomUUID } from "node:crypto";
import pg from "pg";

export interface Account {
  readonly id: string;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly loginType: string;
  readonly owner: boolean;
  readonly createdAt: string;
  /** The organizations that it is a member of; defaults to all. */
  readonly organizationIds?: readonly string[];
}

/** A token as its user can look it up. */
export interface DescribedToken {
  readonly id: string;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The owner of a session token. */
export interface Accounts {
  find(token: string, now: number): Promise<Account | undefined>;
  /** A token of the user, by the part before its dash. */
  describe(id: string, userId: string): Promise<DescribedToken | undefined>;
  /** Deletes a token of the user, by the part before its dash. Returns whether it existed. */
  revoke(id: string, userId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Later than any clock of a test. */
const FAR_OFF = Date.UTC(9999, 0);

/** Initial tokens, and tokens that are added or removed later. */
export class StaticAccounts implements Accounts {
  readonly #accounts = new Map<string, Account & Pick<DescribedToken, "expiresAt">>();

  add(token: string, account: Partial<Account & DescribedToken> & { owner: boolean }): void {
    this.#accounts.set(token, {
      expiresAt: FAR_OFF,
      id: randomUUID(),
      username: account.owner ? "testuser" : "member",
      name: account.owner ? "Test User" : "Member",
      email: account.owner ? "testuser@coder.com" : "m@example.com",
      loginType: "password",
      createdAt: new Date().toISOString(),
      ...account,
    });
  }

  remove(token: string): void {
    this.#accounts.delete(token);
  }

  async find(token: string, now: number): Promise<Account | undefined> {
    const account = this.#accounts.get(token);
    return account && account.expiresAt > now ? account : undefined;
  }

  async describe(id: string, userId: string): Promise<DescribedToken | undefined> {
    const [found] = this.#of(id, userId);
    return found && { id, expiresAt: found[1].expiresAt };
  }

  async revoke(id: string, userId: string): Promise<boolean> {
    const tokens = this.#of(id, userId);
    for (const [token] of tokens) this.#accounts.delete(token);
    return tokens.length > 0;
  }

  async close(): Promise<void> {}

  #of(id: string, userId: string) {
    return [...this.#accounts].filter(
      ([token, { id: user }]) => token.startsWith(`${id}-`) && user === userId,
    );
  }
}

const FIND_KEY = `
  SELECT k.hashed_secret, k.expires_at, u.id, u.username, u.name, u.email, u.login_type, u.rbac_roles,
         u.created_at
  FROM api_keys k JOIN users u ON u.id = k.user_id
  WHERE k.id = $1 AND u.status = 'active' AND NOT u.deleted`;

/** Checks tokens like coderd: `id-secret` against the hash in the `api_keys` table. */
export class PostgresAccounts implements Accounts {
  readonly #pool: pg.Pool;

  constructor(connectionUrl: string) {
    this.#pool = new pg.Pool({ connectionString: connectionUrl, max: 2, idleTimeoutMillis: 1_000 });
    this.#pool.on("error", () => {});
  }

  async find(token: string, now: number): Promise<Account | undefined> {
    const [id, secret] = token.split("-");
    if (!id || !secret) return undefined;
    const { rows } = await this.#pool.query(FIND_KEY, [id]);
    const row = rows[0];
    const hash = createHash("sha256").update(secret).digest();
    if (!row || !hash.equals(row.hashed_secret) || row.expires_at.getTime() <= now) return undefined;
    return {
      id: row.id,
      username: row.username,
      name: row.name,
      email: row.email,
      loginType: row.login_type,
      owner: row.rbac_roles.includes("owner"),
      createdAt: row.created_at.toISOString(),
    };
  }

  async describe(id: string, userId: string): Promise<DescribedToken | undefined> {
    const sql = "SELECT expires_at FROM api_keys WHERE id = $1 AND user_id = $2";
    const [row] = (await this.#pool.query(sql, [id, userId])).rows;
    return row && { id, expiresAt: row.expires_at.getTime() };
  }

  async revoke(id: string, userId: string): Promise<boolean> {
    const sql = "DELETE FROM api_keys WHERE id = $1 AND user_id = $2";
    return (await this.#pool.query(sql, [id, userId])).rowCount === 1;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
