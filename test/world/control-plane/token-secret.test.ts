import { Deployment, Secret } from "kube-controller-runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const SECRET = "coder-operator-token";
const managed = { "app.kubernetes.io/managed-by": "coder-k8s" };
const extraEnv = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }];

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("token-secret");
});
afterEach(() => stage[Symbol.asyncDispose]());

const ready = () => stage.untilCondition("coder", "OperatorAccessReady", { status: "True" });
const revocations = async () =>
  (await stage.events("coder")).filter(({ reason }) => reason === "TokenRevoked");

describe("a token's Secret that the cache does not have", () => {
  test("is taken over with its first new token when it is handed over", async () => {
    await stage.putSecret(SECRET, { token: "of-an-earlier-time" });
    const annotations = { "coder.com/adopt-by": "CoderControlPlane/coder" };
    await stage.person.mergePatch(Secret, stage.ref(SECRET), { metadata: { annotations } });
    await stage.serve("coder");
    await ready();
    expect(await stage.secretValue(SECRET, "token")).toBe("token-1");
    expect((await stage.get(Secret, SECRET)).metadata.labels).toMatchObject(managed);
    expect(stage.tokens.issued).toBe(1);
  });

  test("gets its label back together with a new token when its token is invalid", async () => {
    await stage.serve("coder");
    await ready();
    await stage.operator.stop();
    const labels = { "app.kubernetes.io/managed-by": null };
    await stage.person.mergePatch(Secret, stage.ref(SECRET), { metadata: { labels } });
    stage.tokens.expire();
    await stage.startOperator({ database: stage.tokens });
    await stage.eventually(async () => expect(await stage.secretValue(SECRET, "token")).toBe("token-2"));
    await ready();
    expect((await stage.get(Secret, SECRET)).metadata.labels).toMatchObject(managed);
    expect(stage.tokens.issued).toBe(2);
  });
});

test("a foreign Secret that appears after the first check is a conflict, and no pod changes", async () => {
  stage.tokens.isDown = true;
  await stage.create("coder", { extraEnv });
  await stage.untilCondition("coder", "OperatorAccessReady", { reason: "DatabaseUnreachable" });
  const before = await stage.putSecret(SECRET, { password: "of-another-owner" });
  stage.tokens.isDown = false;
  await stage.timePasses(30_000);
  await stage.untilCondition("coder", "OperatorAccessReady", { reason: "SecretNotOurs" });
  await stage.timePasses(30_000);
  await stage.untilCondition("coder", "Conflict", { status: "True", reason: "SecretNotOurs" });
  await stage.change("coder", { replicas: 3 });
  await stage.untilCondition("coder", "DeploymentReady", { observedGeneration: 2 });
  expect((await stage.get(Deployment, "coder")).spec?.replicas).toBe(1);
  expect(await stage.get(Secret, SECRET)).toEqual(before);
  expect(stage.tokens.current).toBeUndefined();
});

test("a given token in a Secret of the generated name has nothing to do with the database", async () => {
  stage.tokens.accounts.add("token-of-a-person", { owner: true });
  await stage.putSecret(SECRET, { token: "token-of-a-person" });
  await stage.serve("coder", { operatorAccess: { tokenSecretRef: { name: SECRET } } });
  await ready();
  await stage.touch("coder", "again");
  await stage.untilIdle();
  expect(stage.tokens.revoked).toBe(0);
  expect(await revocations()).toEqual([]);
});

test("a control plane that loses its connection URL still revokes its token when it is deleted", async () => {
  await stage.serve("coder");
  await ready();
  const token = stage.tokens.current ?? "";
  await stage.change("coder", { extraEnv: [] });
  await stage.untilStatus("coder", { observedGeneration: 2 });
  await stage.untilIdle();
  expect(await stage.tokens.accounts.find(token, Date.now())).toBeDefined();
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  expect(await stage.tokens.accounts.find(token, Date.now())).toBeUndefined();
});

test("access that is turned off before coderd is ready revokes its token once, and one event reports it", async () => {
  await stage.create("coder", { extraEnv });
  await ready();
  await stage.change("coder", { operatorAccess: { disabled: true } });
  await stage.untilCondition("coder", "OperatorAccessReady", { reason: "Disabled" });
  await stage.untilIdle();
  expect(stage.tokens.revoked).toBe(1);
  expect(await revocations()).toMatchObject([{ count: 1 }]);
});
