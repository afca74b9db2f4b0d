import type { TransportRequest } from "kube-controller-runtime";
import { silent, when } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { RunningOperator } from "../../../lab/operator.ts";
import { CountingMetrics } from "../../support/counting-metrics.ts";
import { NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

/** Lets the watch of control planes seem open and report nothing more; those of their children go on. */
async function stallRecords({ transport }: RunningOperator, stage: UpgradeStage): Promise<void> {
  const resumes = ({ path }: TransportRequest) =>
    path.includes("/codercontrolplanes") &&
    path.includes("watch=true") &&
    !path.includes("sendInitialEvents");
  transport.fault = when(resumes, silent);
  transport.cutWatches();
  await stage.eventually(() => expect(transport.requests.some(resumes)).toBe(true));
}

test("a standby whose watch has stalled takes over in the middle of a migration and starts no old pod", async () => {
  await using stage = await openUpgradeStage({ operator: false });
  const candidate = (identity: string, observer: CountingMetrics) =>
    stage.startOperator({ leaderElection: { lease: stage.ref("lease"), identity }, observer });
  const first = await candidate("first", stage.counters);
  await stage.settle();
  const counters = new CountingMetrics();
  const standby = await candidate("standby", counters);
  await stallRecords(standby, stage);
  stage.schema.isBlocked = true;
  await stage.change("coder", { image: NEW });
  await stage.eventually(() => expect(stage.schema.inspection.migration).toBeDefined());
  await first.stop();
  await stage.eventually(() => expect(counters.runs).toBeGreaterThan(3));
  stage.schema.isBlocked = false;
  await stage.untilStage("Completed");
  expect(stage.rollouts.started).toEqual([OLD, OLD, NEW, NEW]);
  expect(stage.rollouts.violations).toEqual([]);
});
