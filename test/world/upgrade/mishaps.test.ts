import { answers, when } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { BAD_AFTER, BROKEN, NEW, OLD, openUpgradeStage } from "./stage.ts";

/** Longer than a version may be unconfirmed. */
const LONG_MS = 10 * 60_000;

test("without access to the database the way of the runbook restores a backup that no new pod migrates again", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ operatorAccess: { disabled: true } });
  await stage.change("coder", { image: BAD_AFTER });
  await stage.untilStage("Stuck");
  await stage.change("coder", { replicas: 0, image: OLD });
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([]));
  stage.schema.version = 362;
  await stage.change("coder", { replicas: 2 });
  await stage.untilCondition("coder", "Upgrading", {
    reason: "Stuck",
    message: expect.stringContaining("set spec.upgrade.strategy to Rolling"),
  });
  expect([stage.schema.version, stage.rollouts.alive()]).toEqual([362, []]);
  await stage.change("coder", { upgrade: { strategy: "Rolling" } });
  await stage.untilCondition("coder", "Ready", { status: "True" });
  expect([stage.schema.version, stage.rollouts.alive()]).toEqual([362, [OLD, OLD]]);
});

test("an image whose Deployment was refused is not taken for the one that runs", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ upgrade: { strategy: "Rolling" } });
  const body = { kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden", message: "by a policy" };
  stage.operator.transport.fault = when(
    ({ method, path }) => method === "PATCH" && path.includes("/deployments/coder"),
    answers(403, {}, JSON.stringify(body)),
  );
  await stage.change("coder", { image: NEW });
  await stage.untilCondition("coder", "DeploymentReady", { reason: "Forbidden" });
  expect(await stage.status("coder")).toMatchObject({ image: OLD });
  await stage.change("coder", { upgrade: { strategy: "Safe" } });
  stage.operator.transport.fault = undefined;
  await stage.untilStage("Completed");
  expect(stage.rollouts.violations).toEqual([]);
});

test("the time without service counts from the first stop when the first attempt failed", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: BROKEN });
  const { downSince = "" } = await stage.untilStage("Migrating");
  await stage.timePasses(30_000);
  await stage.change("coder", { image: NEW });
  const { servedAgain = "" } = await stage.untilStage("Completed");
  expect(stage.rollouts.served).toEqual([OLD, NEW]);
  const downSeconds = (Date.parse(servedAgain) - Date.parse(downSince)) / 1_000;
  const { message } = await stage.untilCondition("coder", "Upgrading", { reason: "Completed" });
  expect(message).toContain(`unavailable for ${downSeconds} s`);
});

test("an outage that was over before the upgrade is not attributed to it", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: BROKEN });
  await stage.untilStage("RolledBack");
  await stage.untilCondition("coder", "Available", { status: "True" });
  await stage.timePasses(60_000);
  const since = stage.clock.now();
  await stage.change("coder", { image: NEW });
  const { downSince = "" } = await stage.untilStage("Completed");
  expect(Date.parse(downSince)).toBeGreaterThanOrEqual(since);
});

test("without a readiness probe a pod that migrates is not taken for one that serves", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ readinessProbe: { enabled: false } });
  stage.schema.isBlocked = true;
  await stage.change("coder", { image: NEW });
  await stage.eventually(() => expect(stage.schema.inspection.migration).toBeDefined());
  const since = stage.clock.now();
  const isLater = () => expect(stage.clock.now() - since).toBeGreaterThan(LONG_MS);
  await stage.eventually(isLater, { withinMs: 2 * LONG_MS });
  expect((await stage.status("coder")).upgrade).toMatchObject({ stage: "Migrating" });
  expect(stage.rollouts.alive()).toEqual([NEW]);
  stage.schema.isBlocked = false;
  const { servedAgain = "", migratingSince = "" } = await stage.untilStage("Completed");
  expect(Date.parse(servedAgain) - Date.parse(migratingSince)).toBeGreaterThan(LONG_MS);
});

test("a coderd that does not answer for a moment does not end the wait for its builds", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  const build = stage.startBuild();
  const answerAgain = stage.coderd.faults.inject({ fault: { kind: "cut" }, on: /provisionerjobs/ });
  await stage.change("coder", { image: NEW });
  const waiting = (what: string) =>
    stage.untilCondition("coder", "Upgrading", {
      reason: "Draining",
      message: expect.stringContaining(what),
    });
  await waiting("coderd to report the running builds");
  answerAgain();
  await waiting("1 running build");
  expect(stage.rollouts.alive()).toEqual([OLD, OLD]);
  build.status = "succeeded";
  await stage.untilStage("Completed");
});
