import { type AddressInfo, createServer, type Server } from "node:net";
import { LeaderFence, NotLeaderError, systemClock } from "kube-controller-runtime";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  unfenced,
} from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, type Postgres, type Schema, startPostgres } from "../../lab/postgres.ts";
import { type DatabaseTarget, operatorAccess } from "../../src/coder/operator-access/access.ts";
import type { DatabaseFailure } from "../../src/coder/operator-access/failure.ts";
import { type Connect, connectPostgres } from "../../src/coder/operator-access/session.ts";
import type { Encryption } from "../../src/coder/operator-access/tls.ts";
import { converge, StoredToken, targetOf, watchedConnect } from "../support/operator-access.ts";

let postgres: Postgres;
const access = operatorAccess({ clock: systemClock, fence: unfenced });

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

/** The failure of an attempt, checked to show nothing of the connection URL. */
async function failureAt(target: DatabaseTarget, using = access): Promise<DatabaseFailure> {
  const result = await using.ensureToken(target, undefined);
  if (result.ok) throw new Error("succeeded");
  const shown = JSON.stringify(result);
  expect(shown).not.toContain(postgres.password);
  expect(shown).not.toContain("127.0.0.1");
  expect(shown).not.toContain("marked");
  return result.failure;
}

function withParts(
  database: Database,
  parts: Partial<Record<"username" | "password" | "pathname" | "host", string>>,
) {
  const url = new URL(database.url);
  for (const [part, value] of Object.entries(parts)) Object.assign(url, { [part]: value });
  return targetOf({ url: url.href });
}

async function damaged(sql: string, schema: Schema = "migrated"): Promise<DatabaseTarget> {
  const database = await postgres.createDatabase(schema);
  await database.query(sql);
  return targetOf(database);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

describe("a database that can't be used", () => {
  let database: Database;
  beforeAll(async () => {
    database = await postgres.createDatabase("migrated");
  });

  it("is invalidUrl if the connection URL is invalid", async () => {
    expect(await failureAt(targetOf({ url: "host=127.0.0.1 password=marked" }))).toMatchObject({
      kind: "invalidUrl",
    });
  });

  it("is unreachable when the connection is refused, and when the name does not resolve", async () => {
    const closed = createServer();
    const port = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    expect(await failureAt(withParts(database, { host: `127.0.0.1:${port}` }))).toEqual({
      kind: "unreachable",
      message: "The database host refuses the connection; check the host and the port in the connection URL.",
    });
    expect((await failureAt(withParts(database, { host: "marked.invalid" }))).kind).toBe("unreachable");
  });

  it("is unreachable if it accepts the connection and does not respond", async () => {
    const silent = createServer(() => {});
    const port = await listen(silent);
    const url = `postgres://u:marked@127.0.0.1:${port}/d?connect_timeout=1&sslmode=disable`;
    expect(await failureAt(targetOf({ url }))).toEqual({
      kind: "unreachable",
      message: "The database host did not respond in time; check network policies and the port.",
    });
    silent.close();
  });

  it("is authenticationFailed with a wrong password, none, or an unknown user", async () => {
    for (const parts of [{ password: "marked" }, { password: "" }, { username: "marked" }])
      expect(await failureAt(withParts(database, parts))).toMatchObject({ kind: "authenticationFailed" });
  });

  it("is databaseMissing when the server has no such database", async () => {
    expect((await failureAt(withParts(database, { pathname: "/marked" }))).kind).toBe("databaseMissing");
  });

  it("is schemaMissing before coderd has migrated it", async () => {
    const empty = targetOf(await postgres.createDatabase("empty"));
    expect(await failureAt(empty)).toEqual({
      kind: "schemaMissing",
      message: "Table users is missing: coderd has not migrated the database yet.",
    });
    expect(await access.revokeToken(empty)).toEqual({ ok: true, value: 0 });
  });

  it.each([
    ["users.shoe_size", "ALTER TABLE users ADD COLUMN shoe_size int NOT NULL"],
    ["api_keys.shoe_size", "ALTER TABLE api_keys ADD COLUMN shoe_size int NOT NULL"],
    ["api_keys.user_id", "ALTER TABLE api_keys RENAME COLUMN user_id TO holder_id"],
    ["users.login_type", "ALTER TYPE login_type RENAME VALUE 'none' TO 'nothing'"],
    ["api_keys.scopes", "ALTER TYPE api_key_scope RENAME VALUE 'coder:all' TO 'everything'"],
    ["organization_members.rank", "ALTER TABLE organization_members ADD COLUMN rank int NOT NULL"],
  ])("is schemaUnsupported and names %s", async (column, change) => {
    expect(await failureAt(await damaged(change))).toMatchObject({
      kind: "schemaUnsupported",
      message: expect.stringContaining(column),
    });
  });

  it("may have columns this operator does not know, as long as they fill themselves", async () => {
    const target = await damaged(
      `ALTER TABLE users ADD COLUMN a int, ADD COLUMN b int NOT NULL DEFAULT 1,
         ADD COLUMN c int GENERATED ALWAYS AS IDENTITY, ADD COLUMN d int NOT NULL GENERATED ALWAYS AS (b) STORED`,
    );
    await converge(access, target, new StoredToken());
  });

  it("is permissionDenied when its user may not touch the tables", async () => {
    await database.query("CREATE ROLE reader LOGIN PASSWORD 'marked'");
    await database.query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    const failure = await failureAt(withParts(database, { username: "reader", password: "marked" }));
    expect(failure).toMatchObject({ kind: "permissionDenied", message: expect.stringContaining("users") });
  });

  it("is timeout if another session keeps a lock for too long", async () => {
    const holder = await connectHolder(database);
    expect((await failureAt(targetOf(database))).kind).toBe("timeout");
    await holder.release();
  });

  it("is transient if it is read-only, or becomes unavailable during the session", async () => {
    const readOnly = await postgres.createDatabase("migrated");
    await readOnly.query(`ALTER DATABASE ${readOnly.name} SET default_transaction_read_only = on`);
    expect(await failureAt(targetOf(readOnly))).toMatchObject({
      kind: "transient",
      message: expect.stringContaining("read-only"),
    });
    const connect = watchedConnect(async (sql, when) => {
      if (when === "before" && sql.startsWith("INSERT"))
        await database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coder-k8s'",
        );
    });
    const cut = await failureAt(
      targetOf(database),
      operatorAccess({ clock: systemClock, fence: unfenced, connect }),
    );
    expect(cut.kind).toBe("transient");
  });
});

describe("the loss of leadership", () => {
  async function lostAt(statement: RegExp, lose: (fence: LeaderFence) => void) {
    const database = await postgres.createDatabase("migrated");
    const fence = new LeaderFence();
    fence.open(() => true);
    const sent: string[] = [];
    const connect = watchedConnect((sql, when) => {
      if (when === "after") sent.push(sql);
      if (when === "before" && statement.test(sql)) lose(fence);
    });
    const ended = operatorAccess({ clock: systemClock, fence, connect });
    await expect(ended.ensureToken(targetOf(database), undefined)).rejects.toBeInstanceOf(NotLeaderError);
    const left = await database.query("SELECT id FROM api_keys");
    return { sent, left };
  }

  it.each([
    ["found by the statement that is about to go out", (fence: LeaderFence) => fence.open(() => false)],
    ["noticed elsewhere", (fence: LeaderFence) => fence.close(new NotLeaderError("lost"))],
  ])("%s blocks further statements and leaves no data", async (_, lose) => {
    for (const statement of [/^BEGIN/, /^INSERT/, /^COMMIT/]) {
      const { sent, left } = await lostAt(statement, lose);
      expect(sent.filter((sql) => statement.test(sql))).toEqual([]);
      expect(left).toEqual([]);
    }
  });
});

async function connectHolder(database: Database): Promise<{ release(): Promise<void> }> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE");
  return { release: () => client.end() };
}

describe("TLS", () => {
  const ca: CertificateAuthority = createCertificateAuthority();
  const other = createCertificateAuthority("Other");
  let database: Database;
  let used: Encryption[];

  const connect: Connect = async (...way) => {
    const session = await connectPostgres(...way);
    const [row] = await session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    used.push(row?.ssl === "t" ? {} : false);
    return session;
  };
  const watched = operatorAccess({ clock: systemClock, fence: unfenced, connect });

  function target(query: string, trusted?: string): DatabaseTarget {
    used = [];
    const readFile = async (path: string) => (path === "/ca.crt" ? trusted : undefined);
    return targetOf({ url: `${database.url}?${query}` }, { readFile });
  }

  async function encrypted(query: string, trusted?: string): Promise<boolean> {
    const result = await watched.ensureToken(target(query, trusted), undefined);
    if (!result.ok) throw new Error(`${result.failure.kind}: ${result.failure.message}`);
    return used[0] !== false;
  }

  beforeAll(async () => {
    database = await postgres.createDatabase("migrated");
  });

  it("is unavailable on a server without it: prefer and allow work, require fails", async () => {
    expect(await encrypted("sslmode=prefer")).toBe(false);
    expect(await encrypted("sslmode=allow")).toBe(false);
    expect(await failureAt(target("sslmode=require"))).toMatchObject({
      kind: "tlsFailed",
      message: expect.stringContaining("does not support TLS"),
    });
  });

  it("is used where it is offered, as the mode says", async () => {
    await postgres.enableTls(ca.issue(["127.0.0.1"]));
    await expect.poll(() => encrypted("sslmode=prefer")).toBe(true);
    expect(await encrypted("")).toBe(true);
    expect(await encrypted("sslmode=disable")).toBe(false);
    expect(await encrypted("sslmode=allow")).toBe(false);
    expect(await encrypted("sslmode=require")).toBe(true);
    expect(await encrypted("sslmode=require&sslnegotiation=direct")).toBe(true);
    expect(await encrypted("sslmode=verify-ca&sslrootcert=/ca.crt", ca.cert)).toBe(true);
    expect(await encrypted("sslmode=verify-full&sslrootcert=/ca.crt", ca.cert)).toBe(true);
  });

  it("with a certificate of another CA is refused by every mode that looks at it", async () => {
    for (const mode of ["require", "verify-ca", "verify-full"]) {
      const query = `sslmode=${mode}&sslrootcert=/ca.crt`;
      expect((await failureAt(target(query, other.cert))).kind).toBe("tlsFailed");
    }
    expect((await failureAt(target("sslmode=verify-full"))).kind).toBe("tlsFailed");
  });

  it("for another host name is good enough for verify-ca only", async () => {
    await postgres.enableTls(ca.issue(["db.example"]));
    const refused = () => failureAt(target("sslmode=verify-full&sslrootcert=/ca.crt", ca.cert));
    await expect.poll(async () => (await refused()).message).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(await encrypted("sslmode=verify-ca&sslrootcert=/ca.crt", ca.cert)).toBe(true);
  });

  it("that the server requires is tried by allow, and reported as missing by disable", async () => {
    await postgres.setHostRules(["hostssl all all 127.0.0.1/32 scram-sha-256"]);
    await expect.poll(() => encrypted("sslmode=allow")).toBe(true);
    expect(await failureAt(target("sslmode=disable"))).toEqual({
      kind: "authenticationFailed",
      message: "The database rejects this user without encryption; set sslmode to require or stricter.",
    });
  });

  it("that the server forbids is done without by prefer", async () => {
    await postgres.setHostRules(["hostnossl all all 127.0.0.1/32 scram-sha-256"]);
    await expect.poll(() => encrypted("sslmode=prefer")).toBe(false);
    expect(await failureAt(target("sslmode=require"))).toMatchObject({
      kind: "authenticationFailed",
      message: expect.stringContaining("pg_hba.conf"),
    });
  });
});
