import { Deployment, type TransportRequest } from "kube-controller-runtime";
import { silent, when } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { RunningOperator } from "../../../lab/operator.ts";
import { BROKEN, NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

/** Lets the watch of control planes seem open and report nothing more; those of their children go on. */
async function stallRecords(operator: RunningOperator, stage: UpgradeStage): Promise<void> {
  const resumes = ({ path }: TransportRequest) =>
    path.includes("/codercontrolplanes") && path.includes("watch=true") && !path.includes("sendInitialEvents");
  operator.transport.fault = when(resumes, silent);
  operator.transport.cutWatches();
  await stage.timePasses(10_000);
  await stage.eventually(() => expect(operator.transport.requests.some(resumes)).toBe(true));
}

async function expectUpgraded(stage: UpgradeStage): Promise<void> {
  await stage.untilStage("Completed");
  expect(stage.rollouts.started).toEqual([OLD, OLD, NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
}

test("a standby whose watch has stalled takes over in the middle of a migration and starts no old pod", async () => {
  await using stage = await openUpgradeStage({ operator: false });
  const candidate = (identity: string) =>
    stage.startOperator({ leaderElection: { lease: stage.ref("lease"), identity } });
  const first = await candidate("first");
  await stage.settle();
  const standby = await candidate("standby");
  await stallRecords(standby, stage);
  stage.schema.isBlocked = true;
  await stage.change("coder", { image: NEW });
  await stage.eventually(() => expect(stage.schema.sight.migration).toBeDefined());
  const before = stage.witness.runs;
  await first.stop();
  await stage.eventually(() => expect(stage.witness.runs).toBeGreaterThan(before + 3));
  stage.schema.isBlocked = false;
  await expectUpgraded(stage);
});

test("a process that acts on a record of an earlier time starts no old pod and keeps the previous template", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle({ podAnnotations: { note: "old" } });
  const late = await stage.startOperator();
  await stage.untilIdle();
  await stallRecords(late, stage);
  await stage.change("coder", { image: BROKEN, podAnnotations: { note: "new" } });
  await stage.untilStage("RolledBack");
  expect(stage.rollouts.violations).toEqual([]);
  await stage.eventually(() => expect(stage.rollouts.alive()).toEqual([OLD, OLD]));
  const { spec } = await stage.get(Deployment, "coder");
  expect(spec?.template.metadata?.annotations).toEqual({ note: "old" });
});
