import { findCondition } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { openQueueStage, type QueueStage } from "./stage.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let stage: QueueStage;
let coderd: CoderdDeployment;
let organization: string;

beforeEach(async () => {
  stage = await openQueueStage("failing");
  coderd = await stage.controlPlane();
  organization = coderd.organizations[0]?.id ?? "";
});
afterEach(() => stage[Symbol.asyncDispose]());

const condition = async () =>
  findCondition((await stage.get(CoderControlPlane, "coder")).status?.conditions, "BuildsServed");

function untilServed(expected: object, withinMs = 2 * MINUTE) {
  return stage.eventually(
    async () => {
      const present = await condition();
      expect(present).toMatchObject(expected);
      return present?.message ?? "";
    },
    { withinMs },
  );
}

async function pass(ms: number): Promise<void> {
  const until = stage.clock.now() + ms;
  await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(until), { withinMs: ms });
}

/** A pool with one daemon, which has taken the first of three builds. */
async function busyPool(): Promise<string> {
  await stage.serve("pool");
  await untilServed({ status: "True", reason: "Served" });
  const [daemon] = coderd.daemons;
  if (!daemon) throw new Error("the pool has no daemon");
  for (let count = 0; count < 3; count++) coderd.jobs.submit({ organization });
  coderd.jobs.acquire(daemon);
  return daemon.name;
}

test("builds wait for a pool that crashes, and run on its dead daemon, at every moment and within 30 s", async () => {
  const pod = await busyPool();
  await pass(5 * SECOND);
  await stage.pods.crash(pod, { exitCode: 3, message: "error: no terraform found" });
  await stage.pods.count("pool");
  const first = await untilServed({ status: "False", reason: "PodsNotReady" }, 30 * SECOND);
  expect(first).toMatch(
    /^2 builds are waiting, the first since .*: pods of provisioner "pool" fail\. Pod ".*": container "provisioner" crashes with exit code 3: error: no terraform found\. See: kubectl/,
  );
  expect(first).toMatch(
    /1 build has been running since .* on a daemon of provisioner "pool" that has ended \(.*\): its pod fails\./,
  );
  const reasons = new Set<string | undefined>();
  for (const pauseS of [0, 10, 20, 40, 80]) {
    await pass(pauseS * SECOND);
    await stage.pods.rerun(pod);
    await stage.pods.count("pool");
    await pass(2 * SECOND);
    reasons.add((await condition())?.reason);
    await stage.pods.crash(pod, { exitCode: 3 });
    await stage.pods.count("pool");
  }
  expect([...reasons]).toEqual(["PodsNotReady"]);
  expect(await untilServed({ status: "False" })).toMatch(/exit code 3 \(\d restarts in \d+ \w+\)/);
});

test("a build that runs on a daemon whose pod is gone is reported, although coderd shows it as running", async () => {
  await busyPool();
  for (const job of coderd.jobs.queue) coderd.jobs.finish(job);
  const daemons = [...coderd.daemons];
  await stage.pods.end("pool");
  coderd.daemons = daemons;
  for (const daemon of daemons) daemon.silentSince = stage.clock.now();
  await stage.pods.start("pool");
  const message = await untilServed({ status: "False", reason: "DaemonsLost" }, 30 * SECOND);
  expect(message).toMatch(
    /^1 build has been running since .* its pod is gone; coderd ends the build after 5 minutes\.$/,
  );
  const [job] = coderd.jobs.of(organization).filter(({ status }) => status === "running");
  if (job) coderd.jobs.finish(job, "failed");
  await untilServed({ status: "True" });
});

test("a build that was lost by one restart of a daemon that is well again is reported, and one begun since is not", async () => {
  const pod = await busyPool();
  await pass(5 * SECOND);
  await stage.pods.crash(pod, { exitCode: 137 });
  await stage.pods.rerun(pod);
  await stage.pods.count("pool");
  await untilServed({ status: "False" }, 30 * SECOND);
  for (const job of coderd.jobs.queue) coderd.jobs.finish(job);
  await pass(90 * SECOND);
  const message = await untilServed({ status: "False", reason: "DaemonsLost" }, 30 * SECOND);
  expect(message).toMatch(
    /^1 build has been running since .* its container restarted; coderd ends the build after 5 minutes\.$/,
  );
  const [lost] = coderd.jobs.of(organization).filter(({ status }) => status === "running");
  if (lost) coderd.jobs.finish(lost, "failed");
  await untilServed({ status: "True" });
  const [daemon] = coderd.daemons;
  coderd.jobs.submit({ organization });
  if (daemon) coderd.jobs.acquire(daemon);
  await pass(2 * MINUTE);
  expect(await condition()).toMatchObject({ status: "True" });
});
