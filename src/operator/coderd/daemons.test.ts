import { VirtualClock } from "kube-controller-runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { daemon } from "../../../test/support/queue.ts";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { failed, succeeded } from "../../coder/result.ts";
import { DaemonObserver, type DaemonQuestion } from "./daemons.ts";

let clock: VirtualClock;
let observer: DaemonObserver;
let asked: string[];
let failure: CoderFailure | undefined;
let tookMs: number;
beforeEach(() => {
  clock = new VirtualClock();
  observer = new DaemonObserver(clock);
  [asked, failure, tookMs] = [[], undefined, 0];
});

const client: Pick<CoderClient, "provisionerDaemons"> = {
  provisionerDaemons: async (organizationId) => {
    asked.push(organizationId);
    if (tookMs > 0) await clock.sleep(tookMs);
    return failure ? failed(failure) : succeeded([daemon("pod-0", "idle")]);
  },
};
const question = (changes: Partial<DaemonQuestion> = {}): DaemonQuestion => ({
  ...{ client, url: "http://coder", token: "secret", organizationId: "org", maxAgeMs: 2_000 },
  ...changes,
});
const observe = (changes: Partial<DaemonQuestion> = {}) => observer.observe(question(changes));

test("one request serves all who ask while it is under way", async () => {
  tookMs = 100;
  const answers = Promise.all([observe(), observe({ maxAgeMs: 0 }), observe()]);
  await clock.advance(100);
  expect(new Set(await answers).size).toBe(1);
  expect(asked).toEqual(["org"]);
});

test("an answer serves until it is older than the asker allows", async () => {
  await observe();
  await clock.advance(1_999);
  await observe();
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await observe({ maxAgeMs: 60_000 });
  expect(asked).toHaveLength(1);
  await observe();
  await observe({ maxAgeMs: 0 });
  expect(asked).toHaveLength(3);
});

test.each<[string, Partial<DaemonQuestion>]>([
  ["organization", { organizationId: "other" }],
  ["coderd", { url: "http://other" }],
  ["token", { token: "of-somebody-else" }],
])("nobody gets the answer that was given to another %s", async (_, changes) => {
  await observe();
  await observe(changes);
  expect(asked).toHaveLength(2);
});

test("after a failure coderd is left alone, longer each time, for as long as it asks", async () => {
  failure = { kind: "transient", message: "down" };
  expect(await observe()).toEqual({ seen: false, failure, inARow: 1, retryInMs: 2_000 });
  await clock.advance(500);
  expect(await observe()).toEqual({ seen: false, failure, inARow: 1, retryInMs: 1_500 });
  expect(asked).toHaveLength(1);
  await clock.advance(1_500);
  expect(await observe()).toMatchObject({ retryInMs: 4_000 });
  await clock.advance(4_000);
  failure = { kind: "rateLimited", message: "slow down", retryAfterMs: 90_000 };
  expect(await observe()).toMatchObject({ retryInMs: 90_000 });
  await clock.advance(90_000);
  failure = undefined;
  expect(await observe()).toMatchObject({ seen: true });
});

test("a failure hides what coderd said before it", async () => {
  await observe();
  failure = { kind: "transient", message: "down" };
  await observe({ maxAgeMs: 0 });
  expect(await observe({ maxAgeMs: 600_000 })).toMatchObject({ seen: false });
});

test("a coderd that takes long is asked less often", async () => {
  tookMs = 1_000;
  const slow = observe();
  await clock.advance(1_000);
  await slow;
  await clock.advance(18_000);
  await observe();
  expect(asked).toHaveLength(1);
});
