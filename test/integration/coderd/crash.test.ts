import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { TransportRequest } from "../../../src/runtime/client/transport.ts";
import { Secret } from "../../../src/runtime/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { fakeLicense } from "../../support/coderd/licenses.ts";
import { eventually } from "../../support/eventually.ts";
import { type LastAct, Life } from "../../support/life.ts";
import type { RunningOperator } from "../../support/operator.ts";
import { acceptedAs } from "../../support/operator-access.ts";
import { WatchedDatabase } from "../../support/watched-database.ts";
import { type Coderd, type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "crash");
  await stage.operator.stop();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const DAY_MS = 24 * 60 * 60_000;
const PATIENCE = { withinMs: 20_000 };
const UPLOAD = "POST /api/v2/licenses";

const requestTo = (method: TransportRequest["method"], path: RegExp, body = "") =>
  ((request) =>
    request.method === method && path.test(request.path) && (request.body ?? "").includes(body)) as (
    request: TransportRequest,
  ) => boolean;
const secretCreated = requestTo("POST", /\/secrets\?/);
const secretApplied = requestTo("PATCH", /\/secrets\//);
const secretDeleted = requestTo("DELETE", /\/secrets\//);
const licenseRecorded = requestTo("PATCH", /\/status\?/, "licenseLastAppliedHash");

/** An operator that dies of its last act. */
async function startMortal(lastAct: LastAct): Promise<{ operator: RunningOperator; life: Life }> {
  const life = new Life(lastAct);
  const onToken = (token: string) => stage.secrets.add(token);
  const database = new WatchedDatabase({ clock: stage.clock, onToken, connect: life.connect });
  const operator = await stage.startOperator({ database });
  operator.transport.fault = life.fault;
  void life.over.then(() => operator.stop());
  return { operator, life };
}

/** A control plane with a licence; its pods are ready as soon as it has a Deployment. */
async function create(name: string): Promise<Coderd> {
  const coderd = await stage.coderd(name);
  await stage.putSecret(`${name}-license`, { license: fakeLicense({ now: stage.clock.now() }) });
  await stage.serve(name, coderd, { licenseSecretRef: { name: `${name}-license` } });
  return coderd;
}

function converged(name: string): Promise<unknown> {
  return eventually(async () => {
    const { status } = await stage.controlPlane(name);
    expect(status).toMatchObject({ operatorAccessReady: true, licenseTier: "premium" });
    expect(status?.conditions?.filter(({ status }) => status !== "True")).toEqual([]);
  }, PATIENCE);
}

/** All that there must be, and nothing else. */
async function expectOneOfEach(name: string, { database, deployment }: Coderd): Promise<void> {
  const token = await stage.token(`${name}-operator-token`);
  expect(await database.query("SELECT username FROM users")).toEqual([{ username: "coder-k8s-operator" }]);
  expect(await database.query("SELECT roles FROM organization_members")).toHaveLength(1);
  expect(await database.query("SELECT id FROM api_keys")).toEqual([{ id: token.split("-")[0] }]);
  expect(await acceptedAs(database, token, stage.clock)).toBe("coder-k8s-operator (owner)");
  expect(deployment.licenses).toHaveLength(1);
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const { items } = await stage.person.list(Secret, { namespace: stage.namespace, labelSelector });
  expect(items.map(({ metadata }) => metadata.name)).toEqual([`${name}-operator-token`]);
}

/** A fresh process finds what the dead one left, and puts it right. */
async function expectRecovery(name: string, coderd: Coderd): Promise<void> {
  const successor = await stage.startOperator();
  await converged(name);
  await successor.stop();
  await expectOneOfEach(name, coderd);
  await stage.person.delete(CoderControlPlane, stage.ref(name));
}

describe("killed at the first start right after", () => {
  const acts: readonly { after: string; lastAct: LastAct }[] = [
    { after: "the user's row", lastAct: { statement: /^INSERT INTO users/ } },
    { after: "the membership", lastAct: { statement: /^INSERT INTO organization_members/ } },
    { after: "the key's row", lastAct: { statement: /^INSERT INTO api_keys/ } },
    { after: "the commit of all three", lastAct: { statement: /^COMMIT/ } },
    { after: "the Secret", lastAct: { request: secretCreated } },
    { after: "the status that records the licence", lastAct: { request: licenseRecorded } },
  ];

  test.each(acts)("$after: one token and one licence in the end", async ({ after, lastAct }) => {
    const name = `start-${acts.findIndex((act) => act.after === after)}`;
    const { life } = await startMortal(lastAct);
    const coderd = await create(name);
    await life.over;
    await expectRecovery(name, coderd);
  });

  test("the upload of the licence: one token and one licence in the end", async () => {
    const { life } = await startMortal({});
    const coderd = await stage.coderd("upload");
    coderd.deployment.faults.inject({ fault: { kind: "stall" }, on: UPLOAD, afterEffect: true, times: 1 });
    await stage.putSecret("upload-license", { license: fakeLicense({ now: stage.clock.now() }) });
    await stage.serve("upload", coderd, { licenseSecretRef: { name: "upload-license" } });
    await eventually(() => expect(coderd.deployment.licenses).toHaveLength(1), PATIENCE);
    life.end();
    expect((await stage.controlPlane("upload")).status?.licenseLastAppliedHash).toBeUndefined();
    await expectRecovery("upload", coderd);
    expect(coderd.deployment.count(UPLOAD)).toBe(2);
  });
});

describe("killed while it replaces a token that ends soon, right after", () => {
  const acts: readonly { after: string; lastAct: LastAct }[] = [
    { after: "the new key's row", lastAct: { statement: /^INSERT INTO api_keys/ } },
    { after: "its commit", lastAct: { statement: /^COMMIT/ } },
    { after: "the Secret", lastAct: { request: secretApplied } },
    { after: "the end of the old key", lastAct: { statement: /^COMMIT/, nth: 2 } },
  ];

  test.each(acts)(
    "$after: the Secret is valid all the time, and one token is left",
    async ({ after, lastAct }) => {
      const name = `renewal-${acts.findIndex((act) => act.after === after)}`;
      const first = await stage.startOperator();
      const coderd = await create(name);
      await converged(name);
      await first.stop();
      stage.clock.jump(336 * DAY_MS);
      const { life } = await startMortal(lastAct);
      await life.over;
      const left = await stage.token(`${name}-operator-token`);
      expect(await acceptedAs(coderd.database, left, stage.clock)).toBe("coder-k8s-operator (owner)");
      await expectRecovery(name, coderd);
    },
  );
});

describe("killed while it gives up its access, right after", () => {
  test.each<{ after: string; name: string; lastAct: LastAct }>([
    { after: "the token is revoked", name: "revoked", lastAct: { statement: /^COMMIT/ } },
    { after: "the Secret is gone", name: "removed", lastAct: { request: secretDeleted } },
  ])("$after: nothing is left of it", async ({ name, lastAct }) => {
    const first = await stage.startOperator();
    const { database } = await create(name);
    await converged(name);
    await first.stop();
    const { life } = await startMortal(lastAct);
    await stage.change(name, { operatorAccess: { disabled: true } });
    await life.over;
    const successor = await stage.startOperator();
    await stage.untilCondition(name, "OperatorAccessReady", { status: "False", reason: "Disabled" });
    await successor.stop();
    expect(await database.query("SELECT id FROM api_keys")).toEqual([]);
    expect(await stage.exists(Secret, `${name}-operator-token`)).toBe(false);
    await stage.person.delete(CoderControlPlane, stage.ref(name));
  });
});
