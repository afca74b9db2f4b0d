import { Deployment, Ingress } from "kube-controller-runtime";
import { expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CrashingOperator, type CrashOptions, playAll } from "../../support/crashing-operator.ts";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

const NAME = "coder";
const SECRET = "coder-first-admin";
const firstAdmin = { email: "admin@example.com", username: "admin" };
/** An operator that missed an answer tries again after a while. */
const TIME_LIMIT = { withinMs: 5 * 60_000 };

const start = (stage: ControlPlaneStage, operatorUnderTest: CrashingOperator) =>
  stage.startOperator(operatorUnderTest.throughWorld(stage.world));

/** What every story ends with: one admin, whose password is in the Secret, and people who may come. */
async function assertAdmin(stage: ControlPlaneStage, { people }: CoderdDeployment): Promise<void> {
  const { conditions = [], firstAdmin: recorded } = await stage.status(NAME);
  const state = conditions.find(({ type }) => type === "FirstAdminReady");
  expect(state).toMatchObject({ status: "True", reason: "Created" });
  expect(recorded).toMatchObject({ ...firstAdmin, state: "Created" });
  expect(people.all).toMatchObject([firstAdmin]);
  const password = (await stage.secretValue(SECRET, "password")) ?? "";
  expect(people.logIn(firstAdmin.email, password, "")).toBeDefined();
  expect(await stage.exists(Ingress, NAME)).toBe(true);
}

/** Plays the creation with an operator that fails at one of its effects; returns the failed effect, if any. */
async function play(failure: CrashOptions): Promise<string | undefined> {
  const stage = await openControlPlaneStage("first-admin-crash", { operator: false });
  await using owned = new AsyncDisposableStack();
  owned.use(stage);
  const coderd = stage.addCoderd(NAME, { isEmpty: true });
  const operatorUnderTest = new CrashingOperator(failure);
  operatorUnderTest.arm();
  {
    await using _mortal = await start(stage, operatorUnderTest);
    const expose = { ingress: { host: "coder.example.com" } };
    await stage.create(NAME, { firstAdmin, expose, operatorAccess: { disabled: true } });
    await stage.eventually(async () => {
      if (operatorUnderTest.isDead) return;
      if (!(await stage.exists(Deployment, NAME))) expect.fail("no Deployment yet");
      await stage.world.markDeploymentReady(stage.namespace, NAME);
      await assertAdmin(stage, coderd);
    }, TIME_LIMIT);
  }
  const stored = await stage.secretValue(SECRET, "password");
  await using _heir = await stage.startOperator();
  await stage.markReady(NAME);
  await stage.eventually(() => assertAdmin(stage, coderd), TIME_LIMIT);
  if (stored) expect(await stage.secretValue(SECRET, "password")).toBe(stored);
  stage.secrets.add((await stage.secretValue(SECRET, "password")) ?? "");
  return operatorUnderTest.failedAt;
}

test.each(["diesAfter", "missesAnswer"] as const)(
  "an operator that fails at any one of its changes (%s) leaves one first admin, whose password is not lost",
  async (failure) => {
    const failed = await playAll(failure, play);
    expect(failed).toContain("createFirstUser");
    expect(failed.filter((effect) => effect.endsWith(`/secrets/${SECRET}`))).not.toEqual([]);
    expect(failed.filter((effect) => effect.endsWith("/status"))).not.toEqual([]);
  },
);

test("an admin whose password was lost between creation and record is reported, not made again", async () => {
  const stage = await openControlPlaneStage("first-admin-crash", { operator: false });
  await using owned = new AsyncDisposableStack();
  owned.use(stage);
  const coderd = stage.addCoderd(NAME, { isEmpty: true });
  const operatorUnderTest = new CrashingOperator({
    onEffect: async (effect) => {
      if (effect !== "createFirstUser") return;
      stage.secrets.add((await stage.secretValue(SECRET, "password")) ?? "");
      await stage.putSecret(SECRET, { password: "something-else-1" });
      throw new Error("the process was killed");
    },
  });
  operatorUnderTest.arm();
  const mortal = await start(stage, operatorUnderTest);
  await stage.create(NAME, { firstAdmin, operatorAccess: { disabled: true } });
  await stage.markReady(NAME);
  await stage.eventually(() => expect(coderd.people.all).toHaveLength(1));
  await mortal.stop();
  await stage.startOperator();
  await stage.untilCondition(NAME, "FirstAdminReady", { status: "True", reason: "UsersExist" });
  expect(coderd.people.all).toHaveLength(1);
});
