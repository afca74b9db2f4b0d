import type { Fault } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { acceptedAs } from "../../../lab/coderd-database/database.ts";
import type { OperatorAccess } from "../../../src/coder/operator-access/access.ts";
import { type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage({ operator: false });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const OPERATORS = 20;
const OWNER = "coder-k8s-operator (owner)";
const names = ["red", "green", "blue"];
const secretOf = (name: string) => `${name}-operator-token`;

test("twenty operators without a leader make one user, one live token per control plane and one license", async () => {
  const database = await stage.databases.create();
  const coderds = await Promise.all(names.map((name) => stage.coderd(name, { database })));
  await stage.putSecret("license", { license: fakeLicense({ now: stage.clock.now() }) });
  const invalid: string[] = [];
  /** PollState whether what the Secrets hold is valid, after every effect of any of them. */
  const look = async () => {
    for (const name of names) {
      const token = await stage.token(secretOf(name));
      if (token && (await acceptedAs(database, token, stage.clock.now())) !== OWNER) invalid.push(name);
    }
  };
  const { access } = stage.databases;
  const watched: OperatorAccess = {
    ensureToken: (...call) => access.ensureToken(...call).finally(look),
    revokeToken: (...call) => access.revokeToken(...call).finally(look),
    inspect: access.inspect,
  };
  const fault: Fault = (request, pass) => (request.path.includes("/secrets") ? pass().finally(look) : pass());
  for (let count = 0; count < OPERATORS; count++)
    await stage.startOperator({ database: stage.access(watched), fault });

  const spec = { licenseSecretRef: { name: "license" } };
  for (const [index, coderd] of coderds.entries()) await stage.serve(names[index] ?? "", coderd, spec);
  await stage.eventually(
    async () => {
      for (const name of names) {
        const { conditions = [] } = await stage.status(name);
        const applied = conditions.filter(({ reason }) => reason === "TokenReady" || reason === "Applied");
        expect(applied.map(({ type }) => type)).toEqual(
          expect.arrayContaining(["OperatorAccessReady", "LicenseApplied"]),
        );
      }
      expect(await database.keys()).toHaveLength(names.length);
      expect(stage.counters.running).toBe(0);
    },
    { withinMs: 90_000 },
  );

  expect(invalid).toEqual([]);
  for (const name of names)
    expect(await acceptedAs(database, await stage.token(secretOf(name)), stage.clock.now()), name).toBe(
      OWNER,
    );
  expect(await database.users()).toMatchObject([{ username: "coder-k8s-operator" }]);
  expect(await database.memberships()).toHaveLength(1);
  expect(new Set((await database.keys()).map(({ name }) => name)).size).toBe(names.length);
  expect(coderds.map(({ deployment }) => deployment.licenses.length)).toEqual([1, 1, 1]);
});
