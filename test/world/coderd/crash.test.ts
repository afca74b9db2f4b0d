import { Secret, type TransportRequest } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { acceptedAs } from "../../../lab/coderd-database/database.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { CrashingProcess, type LastAct } from "../../support/crashing-process.ts";
import { type Coderd, type CoderdStage, openCoderdStage } from "./stage.ts";

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage({ operator: false });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const DAY_MS = 24 * 60 * 60_000;
const UPLOAD = "POST /api/v2/licenses";

const requestTo = (method: TransportRequest["method"], path: RegExp, body = "") =>
  ((request) =>
    request.method === method && path.test(request.path) && (request.body ?? "").includes(body)) as (
    request: TransportRequest,
  ) => boolean;
const secretApplied = requestTo("PATCH", /\/secrets\//);
const secretDeleted = requestTo("DELETE", /\/secrets\//);
const licenseRecorded = requestTo("PATCH", /\/status\?/, "licenseLastAppliedHash");

/** An operator that dies of its last act. */
async function startCrashing(lastAct: LastAct): Promise<CrashingProcess> {
  const process = new CrashingProcess(lastAct);
  const database = stage.access(process.through(stage.databases.access));
  const operator = await stage.startOperator({ database, fault: process.fault });
  void process.over.then(() => operator.stop());
  return process;
}

/** Lets it live until it dies. */
async function death(process: CrashingProcess): Promise<void> {
  await stage.eventually(() => expect(process.ended).toBe(true));
}

/** A control plane with a license; its pods are ready as soon as it has a Deployment. */
async function create(name: string): Promise<Coderd> {
  const coderd = await stage.coderd(name);
  await stage.putSecret(`${name}-license`, { license: fakeLicense({ now: stage.clock.now() }) });
  await stage.serve(name, coderd, { licenseSecretRef: { name: `${name}-license` } });
  return coderd;
}

function converged(name: string): Promise<unknown> {
  return stage.eventually(async () => {
    const { status } = await stage.controlPlane(name);
    expect(status).toMatchObject({ operatorAccessReady: true, licenseTier: "premium" });
    const amiss = status?.conditions?.filter(
      ({ type, status }) => status !== "True" && type !== "ImagePinned",
    );
    expect(amiss).toEqual([]);
  });
}

/** All that there must be, and nothing else. */
async function expectOneOfEach(name: string, { database, deployment }: Coderd): Promise<void> {
  const token = await stage.token(`${name}-operator-token`);
  expect(await database.users()).toMatchObject([{ username: "coder-k8s-operator" }]);
  expect(await database.memberships()).toHaveLength(1);
  expect(await database.keys()).toMatchObject([{ id: token.split("-")[0] }]);
  expect(await acceptedAs(database, token, stage.clock.now())).toBe("coder-k8s-operator (owner)");
  expect(deployment.licenses).toHaveLength(1);
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const { items } = await stage.person.list(Secret, { namespace: stage.namespace, labelSelector });
  expect(items.map(({ metadata }) => metadata.name)).toEqual([`${name}-operator-token`]);
}

/** A fresh process finds what the dead one left, and puts it right. */
async function expectRecovery(name: string, coderd: Coderd): Promise<void> {
  const successor = await stage.startOperator();
  await converged(name);
  await stage.eventually(() => expectOneOfEach(name, coderd));
  await stage.delete(CoderControlPlane, name);
  await stage.untilGone(CoderControlPlane, name);
  await successor.stop();
}

describe("killed at the first start right after", () => {
  const acts: readonly { after: string; lastAct: LastAct }[] = [
    { after: "statements that were not committed", lastAct: { transaction: "rolledBack" } },
    { after: "the commit of user, membership and key", lastAct: { transaction: "committed" } },
    { after: "the Secret", lastAct: { request: secretApplied } },
    { after: "the status that records the license", lastAct: { request: licenseRecorded } },
  ];

  test.each(acts)("$after: one token and one license in the end", async ({ after, lastAct }) => {
    const name = `start-${acts.findIndex((act) => act.after === after)}`;
    const process = await startCrashing(lastAct);
    const coderd = await create(name);
    await death(process);
    await expectRecovery(name, coderd);
  });

  test("the upload of the license: one token and one license in the end", async () => {
    const process = await startCrashing({});
    const coderd = await stage.coderd("upload");
    coderd.deployment.faults.inject({ fault: { kind: "stall" }, on: UPLOAD, afterEffect: true, times: 1 });
    await stage.putSecret("upload-license", { license: fakeLicense({ now: stage.clock.now() }) });
    await stage.serve("upload", coderd, { licenseSecretRef: { name: "upload-license" } });
    await stage.eventually(() => expect(coderd.deployment.licenses).toHaveLength(1));
    process.end();
    expect((await stage.controlPlane("upload")).status?.licenseLastAppliedHash).toBeUndefined();
    await expectRecovery("upload", coderd);
    expect(coderd.deployment.count(UPLOAD)).toBe(2);
  });
});

/** Why a token is replaced that coderd still accepts. */
const occasions: readonly { because: string; arise: (name: string) => Promise<unknown> }[] = [
  { because: "ends soon", arise: async () => stage.clock.jump(336 * DAY_MS) },
  {
    because: "somebody wants replaced",
    arise: (name) => {
      // A younger key is never taken for abandoned.
      stage.clock.jump(10 * 60_000);
      const annotations = { "coder.com/rotate-at": "now" };
      return stage.person.mergePatch(CoderControlPlane, stage.ref(name), { metadata: { annotations } });
    },
  },
];

describe.each(occasions)(
  "killed while it replaces a token that $because, right after",
  ({ because, arise }) => {
    const acts: readonly { after: string; lastAct: LastAct }[] = [
      { after: "the new key's row, not committed", lastAct: { transaction: "rolledBack" } },
      { after: "its commit", lastAct: { transaction: "committed" } },
      { after: "the Secret", lastAct: { request: secretApplied } },
      { after: "the end of the old key", lastAct: { transaction: "committed", nth: 2 } },
    ];

    test.each(acts)(
      "$after: the Secret is valid all the time, and one token is left",
      async ({ after, lastAct }) => {
        const occasion = occasions.findIndex((each) => each.because === because);
        const name = `renewal-${occasion}-${acts.findIndex((act) => act.after === after)}`;
        const first = await stage.startOperator();
        const coderd = await create(name);
        await converged(name);
        await first.stop();
        await arise(name);
        const process = await startCrashing(lastAct);
        await death(process);
        const left = await stage.token(`${name}-operator-token`);
        expect(await acceptedAs(coderd.database, left, stage.clock.now())).toBe("coder-k8s-operator (owner)");
        await expectRecovery(name, coderd);
      },
    );
  },
);

describe("killed while it gives up its access, right after", () => {
  test.each<{ after: string; name: string; lastAct: LastAct }>([
    { after: "the token is revoked", name: "revoked", lastAct: { transaction: "committed" } },
    { after: "the Secret is gone", name: "removed", lastAct: { request: secretDeleted } },
  ])("$after: nothing is left of it", async ({ name, lastAct }) => {
    const first = await stage.startOperator();
    const { database } = await create(name);
    await converged(name);
    await first.stop();
    const process = await startCrashing(lastAct);
    await stage.change(name, { operatorAccess: { disabled: true } });
    await death(process);
    const successor = await stage.startOperator();
    await stage.untilCondition(name, "OperatorAccessReady", { status: "False", reason: "Disabled" });
    expect(await database.keys()).toEqual([]);
    expect(await stage.exists(Secret, `${name}-operator-token`)).toBe(false);
    await stage.delete(CoderControlPlane, name);
    await stage.untilGone(CoderControlPlane, name);
    await successor.stop();
  });
});
