import { findCondition } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openQueueStage, type QueueStage } from "../queue/stage.ts";
import { DaemonLife } from "./daemon-life.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let stage: QueueStage;
let life: DaemonLife;
beforeEach(async () => {
  stage = await openQueueStage("rollout");
  life = new DaemonLife(stage, await stage.controlPlane());
});
afterEach(async () => {
  await life[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const ready = async () => findCondition((await stage.status("pool")).conditions, "Ready");
const untilReady = (withinMs: number) =>
  stage.eventually(async () => expect((await ready())?.status).toBe("True"), { withinMs });

async function pass(ms: number): Promise<void> {
  const until = stage.clock.now() + ms;
  await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(until), { withinMs: ms });
}

test("a new pool serves within seconds: where no daemon can be lost, none has to prove itself", async () => {
  const began = stage.clock.now();
  await stage.create("pool", { replicas: 3, image: "good" });
  await untilReady(MINUTE);
  expect(stage.clock.now() - began).toBeLessThanOrEqual(15 * SECOND);
});

test("a daemon that coderd lists and that ends 15 s after its start takes the place of none", async () => {
  await stage.create("pool", { replicas: 3, image: "good" });
  await untilReady(MINUTE);
  const before = life.of("good");
  life.endsAfterS.bad = 15;
  await stage.change("pool", { image: "bad" });
  await pass(20 * MINUTE);
  expect(life.of("good")).toEqual(before);
  expect(life.of("bad")).toHaveLength(1);
  expect(await ready()).toMatchObject({ status: "False", reason: "Stalled" });
  expect((await ready())?.message).toContain("exit code 3");
});

test("daemons that last replace the old ones, one after the other", async () => {
  await stage.create("pool", { replicas: 3, image: "good" });
  await untilReady(MINUTE);
  await stage.change("pool", { image: "better" });
  await pass(20 * SECOND);
  expect(life.of("good")).toHaveLength(3);
  await untilReady(3 * MINUTE);
  expect(life.of("good")).toEqual([]);
  expect(life.of("better")).toHaveLength(3);
});
