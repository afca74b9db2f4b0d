import { systemClock } from "kube-controller-runtime";
import { unfenced } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Database, type Postgres, startPostgres } from "../../lab/postgres.ts";
import { CoderClients } from "../../src/coder/clients.ts";
import { servesTags } from "../../src/coder/tags.ts";
import { CoderdAdmin } from "./support/coderd-admin.ts";
import { startLoneCoderd } from "./support/lone-coderd.ts";

const binaries = inject("coder");

const COLUMNS = `
  SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type,
         a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS default
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.oid = ANY (ARRAY['users', 'organizations', 'organization_members', 'api_keys']::regclass[])
    AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY c.relname, a.attname`;

const ENUMS = `
  SELECT t.typname AS type, array_agg(e.enumlabel::text ORDER BY e.enumsortorder) AS labels
  FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
  WHERE t.typname IN ('login_type', 'user_status', 'api_key_scope')
  GROUP BY t.typname ORDER BY t.typname`;

/** Every set of some tags, with the scopes that coderd knows and without. */
const TAG_SETS = [
  {},
  { scope: "organization" },
  { scope: "organization", owner: "" },
  { scope: "user", owner: "u" },
]
  .flatMap((scope) => [scope, { ...scope, env: "prod" }, { ...scope, env: "test" }])
  .flatMap((tags) => [tags, { ...tags, gpu: "" }]);

const MATCHES = `
  SELECT provisioner_tagset_contains(daemon::tagset, job::tagset) AS matches
  FROM json_array_elements_text($1) WITH ORDINALITY AS d(daemon, i),
       json_array_elements_text($1) WITH ORDINALITY AS j(job, k)
  ORDER BY i, k`;

describe.skipIf(!binaries)("what the other tests take for granted of coderd", () => {
  let postgres: Postgres;
  let database: Database;
  let admin: CoderdAdmin;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    if (!binaries) return;
    postgres = owned.adopt(await startPostgres(), (running) => running.stop());
    database = await postgres.createDatabase("empty");
    const { url } = owned.use(await startLoneCoderd(binaries.coder, database));
    admin = owned.use(await CoderdAdmin.signUp(url, binaries.coder));
  });
  afterAll(() => owned.disposeAsync());

  test.each([
    ["columns", COLUMNS],
    ["enums", ENUMS],
  ])("the fixture of its tables has the %s that it makes itself", async (_, query) => {
    const fixture = await postgres.createDatabase("2.26");
    expect(await fixture.query(query)).toEqual(await database.query(query));
  });

  test("it matches the tags of jobs and daemons as the operator does", async () => {
    const sets = JSON.stringify(TAG_SETS.map((tags) => JSON.stringify(tags)));
    const rows = await database.query(MATCHES.replaceAll("$1", `'${sets}'`));
    const ours = TAG_SETS.flatMap((daemon) => TAG_SETS.map((job) => ({ matches: servesTags(daemon, job) })));
    expect(ours).toEqual(rows);
  });

  test("it limits the rate of each address and endpoint, and lets nobody bypass that", async () => {
    const clients = owned.adopt(new CoderClients({ fence: unfenced, clock: systemClock }), (open) =>
      open.close(),
    );
    const client = clients.client({ url: admin.url, token: admin.token, ca: undefined });
    let answer = await client.currentUser();
    for (let asked = 1; answer.ok && asked <= 600; asked++) answer = await client.currentUser();
    expect(answer).toMatchObject({ failure: { kind: "rateLimited", retryAfterMs: 60_000 } });
    expect(await client.organizations()).toMatchObject({ ok: true });
  });
});
