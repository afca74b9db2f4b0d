import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { eventually, unfenced, VirtualClock } from "kube-controller-runtime/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAccess } from "../../src/coder/operator-access/access.ts";
import { converge, StoredToken, targetOf } from "../support/operator-access.ts";

const PORT = 5432;
const UNPRIVILEGED = 65_534;
const NEEDED = ["initdb", "postgres", "psql", "pg_dump", "pg_restore"];

/** The folder of an installation whose server and tools are of one version; the tests' own Postgres has no tools. */
const programs = globSync("/usr/lib/postgresql/*/bin")
  .filter((folder) => NEEDED.every((name) => existsSync(join(folder, name))))
  .sort()
  .at(-1);

/** What the page runs in the database's pod, by the first word. */
function documented(program: string): string {
  const page = readFileSync(new URL("../../docs/how-to/backup.md", import.meta.url), "utf8");
  return new RegExp(`-- (${program} .*)$`, "m").exec(page)?.[1] ?? `no ${program} on the page`;
}

const reason = programs ? "" : " (skipped: no Postgres with pg_dump in /usr/lib/postgresql)";

describe.skipIf(!programs)(`the commands of the page on backups${reason}`, () => {
  // Postgres refuses to run as root.
  const account = userInfo().uid === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const directory = mkdtempSync("/tmp/coder-k8s-backup-");
  if (account.uid) chownSync(directory, UNPRIVILEGED, UNPRIVILEGED);
  const env = { PATH: `${programs}:/usr/bin:/bin`, PGHOST: directory, PGUSER: "postgres", HOME: directory };
  const url = `postgres://coder@localhost/coder?host=${encodeURIComponent(directory)}`;
  let server: ReturnType<typeof spawn> | undefined;

  const typed = (command: string) =>
    execFileSync("/bin/sh", ["-e", "-c", command], { cwd: directory, env, ...account, stdio: "pipe" });

  async function query(sql: string): Promise<unknown[]> {
    const client = new pg.Client({ host: directory, port: PORT, user: "coder", database: "coder" });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  beforeAll(async () => {
    typed("initdb --auth=trust --username=postgres data");
    const options = ["-D", "data", "-k", directory, "-p", `${PORT}`, "-c", "listen_addresses="];
    server = spawn(join(programs ?? "", "postgres"), options, {
      cwd: directory,
      env,
      ...account,
      stdio: "ignore",
    });
    const isUp = () =>
      spawnSync(join(programs ?? "", "psql"), ["-c", "SELECT 1"], { cwd: directory, env, ...account })
        .status === 0;
    await eventually(() => expect(isUp()).toBe(true), { withinMs: 30_000 });
    typed("psql -c 'CREATE ROLE coder LOGIN' -c 'CREATE DATABASE coder OWNER coder'");
    await query(readFileSync(new URL("../../lab/coderd-database/schema.sql", import.meta.url), "utf8"));
  }, 60_000);
  afterAll(async () => {
    const ended = new Promise((resolve) => server?.once("exit", resolve));
    server?.kill("SIGINT");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });

  test("bring back what was there, and nothing that came later, as coderd's own user can use it", async () => {
    const clock = new VirtualClock(Date.now());
    const access = operatorAccess({ clock, fence: unfenced });
    const store = new StoredToken();
    await converge(access, targetOf({ url }), store);
    const before = await query("SELECT id FROM api_keys");
    typed(documented("pg_dump"));
    await query("DELETE FROM api_keys; CREATE TABLE of_a_newer_version ()");
    typed(documented("psql"));
    typed(documented("pg_restore"));
    expect(await query("SELECT id FROM api_keys")).toEqual(before);
    expect(await query("SELECT FROM pg_tables WHERE tablename = 'of_a_newer_version'")).toEqual([]);
    expect(await query("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")).toEqual([
      { tableowner: "coder" },
    ]);
    const again = await access.ensureToken(targetOf({ url }), store.token);
    expect(again).toMatchObject({ ok: true, value: { token: store.token } });
  });
});
