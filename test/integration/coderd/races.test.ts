import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { PostgresAccounts } from "../../support/coderd/accounts.ts";
import { fakeLicense } from "../../support/coderd/licenses.ts";
import { eventually } from "../../support/eventually.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "races");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Twenty operators in one process are slow; that is not what this is about. */
const PATIENCE = { withinMs: 90_000 };
const OPERATORS = 20;
const names = ["red", "green", "blue"];
const secretOf = (name: string) => `${name}-operator-token`;

test("twenty operators without a leader make one user, one live token per control plane and one licence", {
  timeout: 150_000,
}, async () => {
  const database = await stage.postgres.createDatabase("2.26");
  const coderds = await Promise.all(names.map((name) => stage.coderd(name, { database })));
  await stage.putSecret("license", { license: fakeLicense() });
  await Promise.all(Array.from({ length: OPERATORS - 1 }, () => stage.startOperator()));
  const accounts = new PostgresAccounts(database.url);
  const accepted = async (name: string) => {
    const token = await stage.token(secretOf(name));
    const account = await accounts.find(token, stage.clock.now());
    return { token, valid: account?.owner === true };
  };

  const watching = new AbortController();
  const invalid: string[] = [];
  const watched = (async () => {
    while (!watching.signal.aborted) {
      for (const name of names) {
        const { token, valid } = await accepted(name).catch(() => ({ token: "", valid: true }));
        if (!valid && token === (await stage.token(secretOf(name)))) invalid.push(name);
      }
    }
  })();
  const spec = { licenseSecretRef: { name: "license" } };
  await Promise.all(coderds.map((coderd, index) => stage.serve(names[index] ?? "", coderd, spec)));
  await eventually(async () => {
    for (const name of names) {
      const { conditions = [] } = (await stage.controlPlane(name)).status ?? {};
      const applied = conditions.filter(({ reason }) => reason === "TokenReady" || reason === "Applied");
      expect(applied.map(({ type }) => type)).toEqual(
        expect.arrayContaining(["OperatorAccessReady", "LicenseApplied"]),
      );
    }
    expect(await database.query("SELECT id FROM api_keys")).toHaveLength(names.length);
    expect(stage.witness.running).toBe(0);
  }, PATIENCE);
  watching.abort();
  await watched;

  expect(invalid).toEqual([]);
  for (const name of names) expect((await accepted(name)).valid, name).toBe(true);
  expect(await database.query("SELECT username FROM users")).toEqual([{ username: "coder-k8s-operator" }]);
  expect(await database.query("SELECT roles FROM organization_members")).toHaveLength(1);
  const keys = await database.query("SELECT DISTINCT token_name FROM api_keys");
  expect(keys).toHaveLength(names.length);
  expect(coderds.map(({ deployment }) => deployment.licenses.length)).toEqual([1, 1, 1]);
  await accounts.close();
});
