import { isIP } from "node:net";
import type { Clock } from "kube-controller-runtime";
import type { DatabaseTarget, OperatorAccess } from "../../src/coder/operator-access/access.ts";
import { parseConnectionUrl } from "../../src/coder/operator-access/connection-url.ts";
import {
  type DatabaseFailure,
  DatabaseProblem,
  describeDatabaseError,
  TLS_REFUSED,
} from "../../src/coder/operator-access/failure.ts";
import type { DatabaseInspection } from "../../src/coder/operator-access/inspect.ts";
import { tokenName } from "../../src/coder/operator-access/token.ts";
import { failed, type Result, succeeded } from "../../src/coder/result.ts";
import type { Accounts } from "../coderd/accounts.ts";
import type { CoderdDatabase, CoderdDatabases, KeyRow, Misbehavior, UserRow } from "./database.ts";
import { ensureTokenIn, type Outcome, revokeTokensIn } from "./memory-access.ts";
import { accountOf, freshTables, suffered, type Tables } from "./tables.ts";

const HOST = "postgres.example.com:5432";
const USER = "coder";

/** The inspection of an idle database with the schema of 2.36. */
export const healthyInspection: DatabaseInspection = {
  isReadOnly: false,
  mayMigrate: true,
  freeConnections: 90,
  schema: { version: 556, isDirty: false },
  migration: undefined,
  tokenNames: [],
  replicas: [],
};

/** An in-memory database. */
export class MemoryDatabase implements CoderdDatabase {
  readonly url: string;
  tables: Tables = freshTables();
  /** Inspection data other than tables. */
  inspection: DatabaseInspection = healthyInspection;
  /** The error of every transaction: as `pg` or the server returns it, or a failure with a known cause. */
  failure: Error | undefined;
  readonly #clock: Pick<Clock, "now">;

  constructor(url: string, clock: Pick<Clock, "now">) {
    this.url = url;
    this.#clock = clock;
  }

  async users(): Promise<readonly UserRow[]> {
    return this.tables.users.filter(({ deleted }) => !deleted);
  }

  async memberships(): Promise<readonly (readonly string[])[]> {
    return this.tables.memberships.map(({ roles }) => roles);
  }

  async keys(): Promise<readonly KeyRow[]> {
    return this.tables.keys.map(({ id, name }) => ({ id, name }));
  }

  accounts(): Accounts {
    return {
      find: async (token, now) => accountOf(this.tables, token, now),
      describe: async (id, userId) => this.tables.keys.find((key) => key.id === id && key.userId === userId),
      revoke: async (id, userId) => this.#revoke(id, userId),
      close: async () => {},
    };
  }

  async suffer(misdeed: Misbehavior): Promise<void> {
    this.tables = suffered(this.tables, misdeed, this.#clock.now());
  }

  #revoke(id: string, userId: string): boolean {
    const keys = this.tables.keys.filter((key) => key.id !== id || key.userId !== userId);
    const isGone = keys.length < this.tables.keys.length;
    this.tables = { ...this.tables, keys };
    return isGone;
  }

  /** All of the work takes effect, or none of it. */
  transact<T>(work: (tables: Tables) => Outcome<T>): T {
    if (this.failure) throw this.failure;
    const { tables, result } = work(this.tables);
    this.tables = tables;
    return result;
  }
}

/**
 * An in-memory database server, and the operator's access to it. It parses connection URLs and fails like a
 * real server.
 */
export class MemoryDatabases implements CoderdDatabases<MemoryDatabase> {
  connections = 0;
  /** The passwords of the users that may log in. */
  readonly logins = new Map([[USER, "secret-of-the-database"]]);
  readonly access: OperatorAccess;
  readonly #clock: Pick<Clock, "now">;
  readonly #databases = new Map<string, MemoryDatabase>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.access = {
      ensureToken: async (target, held, request) => {
        const { uid } = target.controlPlane;
        const key = { tokenName: tokenName(target.controlPlane), uid, held, now: clock.now(), ...request };
        return this.#transact(target, (tables) => ensureTokenIn(tables, key));
      },
      revokeToken: async (target, held = []) => {
        const writer = { tokenName: tokenName(target.controlPlane), uid: target.controlPlane.uid, held };
        const revoked = this.#transact(target, (tables) => revokeTokensIn(tables, writer));
        return !revoked.ok && revoked.failure.kind === "schemaMissing" ? succeeded(0) : revoked;
      },
      inspect: async (target, tokenNames = []) => this.#inspect(target, tokenNames),
    };
  }

  async create(): Promise<MemoryDatabase> {
    const name = `coder_${this.#databases.size + 1}`;
    const url = `postgres://${USER}:${this.logins.get(USER)}@${HOST}/${name}`;
    const database = new MemoryDatabase(url, this.#clock);
    this.#databases.set(name, database);
    return database;
  }

  async close(): Promise<void> {}

  #transact<T>(target: DatabaseTarget, work: (tables: Tables) => Outcome<T>): Result<T, DatabaseFailure> {
    try {
      return succeeded(this.#connect(target).transact(work));
    } catch (error) {
      return failed(describeDatabaseError(error));
    }
  }

  #inspect(
    target: DatabaseTarget,
    tokenNames: readonly string[],
  ): Result<DatabaseInspection, DatabaseFailure> {
    try {
      const database = this.#connect(target);
      if (database.failure) throw database.failure;
      const shared = tokenNames.filter((name) => database.tables.keys.some((key) => key.name === name));
      return succeeded({ ...database.inspection, tokenNames: shared });
    } catch (error) {
      return failed(describeDatabaseError(error));
    }
  }

  #connect({ connectionUrl }: DatabaseTarget): MemoryDatabase {
    const settings = parseConnectionUrl(connectionUrl);
    if (!settings.ok) throw new DatabaseProblem("invalidUrl", settings.failure);
    this.connections++;
    const url = new URL(connectionUrl);
    if (isIP(url.hostname) === 0 && !HOST.startsWith(`${url.hostname}:`)) throw coded("ENOTFOUND");
    if (url.host !== HOST) throw coded("ECONNREFUSED");
    if (/require|verify/.test(url.searchParams.get("sslmode") ?? "")) throw coded(TLS_REFUSED);
    if (this.logins.get(url.username) !== url.password) throw coded("28P01");
    const database = this.#databases.get(url.pathname.slice(1));
    if (!database) throw coded("3D000");
    return database;
  }
}

/** An error as the server or the system returns it. */
export function coded(code: string, message = ""): Error {
  return Object.assign(new Error(message), { code });
}
