import { type Condition, findCondition } from "kube-controller-runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** A kubelet's pauses before it starts a container again. */
const BACK_OFF_S = [0, 10, 20, 40, 80, 160, 300, 300, 300];

let world: MemoryWorld;
let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeEach(async () => {
  world = new MemoryWorld();
  stage = await openStage(world, "truth");
  coderd = await stage.controlPlane();
});
afterEach(() => stage[Symbol.asyncDispose]());

const condition = async (type: string): Promise<Condition | undefined> =>
  findCondition((await stage.status("pool")).conditions, type);
const podNames = () => coderd.daemons.map(({ name }) => name);

/** Lets time pass and returns the states that a condition had meanwhile, each once. */
async function states(type: string, ms: number): Promise<string[]> {
  const seen = new Set<string>();
  for (let left = ms; left > 0; left -= SECOND) {
    await world.clock.advance(SECOND);
    const { status, reason } = (await condition(type)) ?? {};
    seen.add(`${status} ${reason}`);
  }
  return [...seen];
}

/** Ends the container of a pod, and starts it again after a kubelet's pause. */
async function dieAndReturn(pod: string, pauseS: number, exitCode = 3): Promise<void> {
  await stage.pods.crash(pod, { exitCode, message: "starting\nerror: no terraform found\n" });
  await stage.pods.count("pool");
  await world.clock.advance(pauseS * SECOND);
  await stage.pods.rerun(pod);
  await stage.pods.count("pool");
}

describe("a pool whose daemon dies a few seconds after each start", () => {
  test.each([
    ["crashes", 3],
    ["ends without an error", 0],
  ])("is never ready while it %s, and says so with exit code %i at every moment", async (_, exitCode) => {
    await stage.serve("pool");
    const [pod = ""] = podNames();
    await world.clock.advance(15 * SECOND);
    const seen = new Set<string>();
    for (const pauseS of BACK_OFF_S) {
      await dieAndReturn(pod, pauseS, exitCode);
      for (const state of await states("Ready", 15 * SECOND)) seen.add(state);
    }
    expect([...seen]).toEqual(["False Stalled"]);
    const { message } = (await condition("Ready")) ?? {};
    expect(message).toContain(`Pod "${pod}": container "provisioner"`);
    expect(message).toContain(`exit code ${exitCode}`);
    expect(message).toMatch(/\(9 restarts in \d+ minutes\)/);
    expect(message).toContain("error: no terraform found. See: kubectl");
    expect(await condition("Stalled")).toMatchObject({ status: "True", reason: "PodsNotReady" });
    const connected = await condition("DaemonsConnected");
    expect(connected).toMatchObject({ status: "False", reason: "Stalled" });
    expect(message + (connected?.message ?? "")).not.toContain("DNS");
  });

  test("is ready again when it has run for ten minutes, and not before", async () => {
    await stage.serve("pool");
    const [pod = ""] = podNames();
    for (const pauseS of [0, 10, 20]) {
      await world.clock.advance(15 * SECOND);
      await dieAndReturn(pod, pauseS);
    }
    expect(await states("Ready", 9 * MINUTE)).toEqual(["False Stalled"]);
    await world.clock.advance(2 * MINUTE);
    expect(await condition("Ready")).toMatchObject({ status: "True" });
    expect(await condition("Stalled")).toBeUndefined();
  });

  test("advises no look at the network in DaemonsConnected, once coderd has forgotten it and its exit code is known", async () => {
    await stage.serve("pool");
    const [pod = ""] = podNames();
    await stage.pods.crash(pod, { exitCode: 3 });
    await stage.pods.count("pool");
    await world.clock.advance(3 * MINUTE);
    const connected = await condition("DaemonsConnected");
    expect(connected?.message).toMatch(/^0 of 1 daemons are connected to coderd\. Pod ".*exit code 3/);
  });

  test("counts as no loop when its restarts lie far apart, however many there were", async () => {
    await stage.serve("pool");
    const [pod = ""] = podNames();
    for (let restarts = 0; restarts < 4; restarts++) {
      await world.clock.advance(30 * MINUTE);
      await dieAndReturn(pod, 0);
    }
    expect(await states("Ready", 2 * MINUTE)).toEqual(["False Stalled", "True Serving"]);
    await world.clock.advance(3 * MINUTE);
    await dieAndReturn(pod, 10);
    expect(await states("Ready", 2 * MINUTE)).toEqual(["False Stalled", "True Serving"]);
  });

  test("is the same to DeploymentReady, DaemonsConnected and Ready after one restart, for a minute", async () => {
    await stage.serve("pool");
    const [pod = ""] = podNames();
    await world.clock.advance(5 * MINUTE);
    await dieAndReturn(pod, 0);
    for (let second = 0; second < 90; second++) {
      await world.clock.advance(SECOND);
      const all = ["Ready", "DeploymentReady", "DaemonsConnected"].map(condition);
      const statuses = new Set((await Promise.all(all)).map((each) => each?.status));
      expect([...statuses], `after ${second} s`).toHaveLength(1);
    }
  });

  test("does not turn to ready and back with its first restarts", async () => {
    await stage.serve("pool");
    const [pod = ""] = podNames();
    await world.clock.advance(15 * SECOND);
    await stage.pods.crash(pod, { exitCode: 3 });
    await stage.pods.count("pool");
    await world.clock.advance(SECOND);
    await stage.pods.rerun(pod);
    await stage.pods.count("pool");
    expect(await states("Ready", 15 * SECOND)).toEqual(["False Stalled"]);
    await dieAndReturn(pod, 10);
    expect(await states("Ready", 50 * SECOND)).toEqual(["False Stalled"]);
    await world.clock.advance(30 * SECOND);
    expect(await condition("Ready")).toMatchObject({ status: "True" });
  });
});

test("a pool with one crashing daemon of three is not ready, and the others are counted", async () => {
  await stage.serve("pool", { replicas: 3 });
  const [pod = ""] = podNames();
  await stage.pods.crash(pod, { exitCode: 137, reason: "OOMKilled" });
  await stage.pods.count("pool");
  await world.clock.advance(2 * SECOND);
  expect((await condition("Ready"))?.message).toContain("used more memory than its limit, exit code 137");
  expect((await condition("DaemonsConnected"))?.message).toMatch(/^2 of 3 daemons are connected to coderd\./);
});

test("a pool that loses all its pods is not ready at once, although coderd still lists its daemons", async () => {
  await stage.serve("pool", { replicas: 2 });
  const daemons = [...coderd.daemons];
  await stage.pods.end("pool");
  coderd.daemons = daemons;
  await stage.pods.count("pool");
  await world.clock.advance(2 * SECOND);
  expect(await condition("Ready")).toMatchObject({ status: "False", reason: "RollingOut" });
  expect(await condition("DaemonsConnected")).toMatchObject({ status: "False" });
});

test("a pool that leaves zero is not ready until its first pod is available, and then at once", async () => {
  await stage.create("pool", { replicas: 0 });
  await stage.rollOut("pool");
  await stage.untilSettled("pool");
  await stage.change("pool", { replicas: 1 });
  await world.clock.advance(SECOND);
  await stage.pods.count("pool");
  expect(await states("Ready", 20 * SECOND)).toEqual(["False RollingOut"]);
  await stage.pods.replace("pool");
  await stage.pods.count("pool");
  await world.clock.advance(2 * SECOND);
  expect(await condition("Ready")).toMatchObject({ status: "True" });
});
