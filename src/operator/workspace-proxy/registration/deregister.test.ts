import { VirtualClock } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import type { CoderFailure } from "../../../coder/failure.ts";
import { retryRateLimited } from "./deregister.ts";

const busy: CoderFailure = { kind: "rateLimited", message: "" };
const down: CoderFailure = { kind: "transient", message: "" };

/** Returns the given outcomes in order, and records the time of each call. */
async function play(...outcomes: (CoderFailure | undefined)[]) {
  const clock = new VirtualClock();
  const calls: number[] = [];
  const call = async () => outcomes[calls.push(clock.monotonic()) - 1];
  const ending = retryRateLimited(call, (outcome) => outcome, { clock, random: () => 1 });
  await clock.advance(60_000);
  return { calls, ending: await ending };
}

test("a coderd that limits requests is asked again, later each time", async () => {
  expect(await play(busy, busy, undefined)).toEqual({ calls: [0, 2_000, 6_000], ending: undefined });
});

test("it is asked three times at most", async () => {
  expect(await play(busy, busy, busy, undefined)).toEqual({ calls: [0, 2_000, 6_000], ending: busy });
});

test("a wait that is too long is not begun", async () => {
  const long = { ...busy, retryAfterMs: 60_000 };
  expect(await play(long, undefined)).toEqual({ calls: [0], ending: long });
});

test("other failures are not repeated", async () => {
  expect(await play(down, undefined)).toEqual({ calls: [0], ending: down });
});
