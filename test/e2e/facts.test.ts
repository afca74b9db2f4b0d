import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "kube-controller-runtime";
import { unfenced } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { traitsOf } from "../../lab/coderd/traits.ts";
import { type Database, type Postgres, startPostgres } from "../../lab/postgres.ts";
import { CoderClients } from "../../src/coder/clients.ts";
import { matchesTags } from "../../src/coder/tags.ts";
import { verdict } from "../../src/operator/control-plane/health/verdict.ts";
import { coderModule } from "../../tools/coder/module.ts";
import { CoderdAdmin } from "./support/coderd-admin.ts";
import { startLoneCoderd } from "./support/lone-coderd.ts";

const binaries = inject("coder");

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

  test("it matches the tags of jobs and daemons as the operator does", async () => {
    const sets = JSON.stringify(TAG_SETS.map((tags) => JSON.stringify(tags)));
    const rows = await database.query(MATCHES.replaceAll("$1", `'${sets}'`));
    const ours = TAG_SETS.flatMap((daemon) => TAG_SETS.map((job) => ({ matches: matchesTags(daemon, job) })));
    expect(ours).toEqual(rows);
  });

  test("it limits the rate of each endpoint, and owners bypass that where it counts by user", async () => {
    const clients = owned.adopt(new CoderClients({ fence: unfenced, clock: systemClock }), (open) =>
      open.close(),
    );
    const asked = async (token: string) => {
      const client = clients.client({ url: admin.url, token, ca: undefined });
      let answer = await client.currentUser();
      for (let count = 1; answer.ok && count <= 600; count++) answer = await client.currentUser();
      return { answer, elsewhere: await client.organizations() };
    };
    const limited = {
      answer: { failure: { kind: "rateLimited", retryAfterMs: 60_000 } },
      elsewhere: { ok: true },
    };
    const member = await admin.invite({ email: "m@example.com", username: "member", name: "Member" });
    const { hasUserLimits } = traitsOf(inject("coderVersion"));
    expect(await asked(admin.token)).toMatchObject(hasUserLimits ? { answer: { ok: true } } : limited);
    expect(await asked(member)).toMatchObject(limited);
  });

  test("it has no code of its health that the operator can't put into words", async () => {
    const file = join(await coderModule(), "coderd", "healthcheck", "health", "model.go");
    const codes = [...(await readFile(file, "utf8")).matchAll(/^\s*Code\w+.*=\s*["`](E[A-Z]+\d+)["`]/gm)];
    const words = codes.map(([, code = ""]) => verdict([{ section: "derp", code, isError: true }], false));
    expect(codes.length).toBeGreaterThan(20);
    expect(words.map(({ message }) => message).filter((text) => text.includes("a fault of"))).toEqual([]);
  });
});
