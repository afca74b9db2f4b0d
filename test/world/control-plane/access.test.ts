import { Secret } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const SECRET = "coder-operator-token";
const MINUTE = 60_000;

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("access");
});
afterEach(() => stage[Symbol.asyncDispose]());

const ready = () => stage.untilCondition("coder", "OperatorAccessReady", { status: "True" });

test("a token whose Secret loses its label stays the token, and gets the label back", async () => {
  await stage.serve("coder");
  await ready();
  const { current } = stage.tokens;
  const labels = { "app.kubernetes.io/managed-by": null };
  await stage.person.mergePatch(Secret, stage.ref(SECRET), { metadata: { labels } });
  await stage.eventually(async () => {
    const { metadata } = await stage.get(Secret, SECRET);
    expect(metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "coder-k8s" });
  });
  expect(stage.tokens.current).toBe(current);
  expect(stage.tokens.issued).toBe(1);
  expect(await stage.secretValue(SECRET, "token")).toBe(current);
});

test("a foreign Secret with the token's name is found before a pod starts or a token is created", async () => {
  const before = await stage.putSecret(SECRET, { password: "of-another-owner" });
  const extraEnv = [{ name: "CODER_PG_CONNECTION_URL", value: "postgres://coder@db/coder" }];
  await stage.create("coder", { extraEnv });
  await stage.untilCondition("coder", "Conflict", { status: "True", reason: "SecretNotOurs" });
  await stage.untilCondition("coder", "DeploymentReady", { status: "False", reason: "NamesTaken" });
  expect(stage.tokens.asked).toBe(0);
  expect(await stage.get(Secret, SECRET)).toEqual(before);
  await stage.delete(Secret, SECRET);
  await stage.timePasses(30_000);
  await stage.markReady("coder");
  await ready();
});

test("an organization that is made later gets the operator as a member when its token is next checked", async () => {
  const coderd = stage.addCoderd("coder", { organizations: ["later"] });
  await stage.serve("coder", {}, { coderd });
  await ready();
  const asked = stage.tokens.asked;
  stage.tokens.organizationIds = [coderd.organizations[0]?.id ?? ""];
  stage.tokens.admit();
  await stage.timePasses(11 * MINUTE);
  await stage.eventually(() => expect(stage.tokens.asked).toBe(asked + 1));
  stage.tokens.organizationIds = undefined;
  stage.tokens.admit();
  await stage.timePasses(11 * MINUTE);
  await stage.untilIdle();
  expect(stage.tokens.asked).toBe(asked + 1);
  expect(stage.tokens.issued).toBe(1);
});

test("what the license allows is unknown once access is turned off", async () => {
  await stage.serve("coder");
  await stage.untilStatus("coder", { licenseTier: expect.stringMatching(/premium|enterprise/) });
  await stage.change("coder", { operatorAccess: { disabled: true } });
  await stage.untilStatus("coder", {
    licenseTier: "unknown",
    externalProvisionerDaemonsEntitlement: "unknown",
  });
  await stage.untilCondition("coder", "EntitlementsKnown", { reason: "Disabled" });
  expect((await stage.status("coder")).entitlementsLastChecked).toBeUndefined();
});
