import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { SkewedClock } from "./skewed-clock.ts";

test("a jump moves both times and fires what became due, in order, once", async () => {
  const clock = new SkewedClock();
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const fired: string[] = [];
  clock.setTimer(() => fired.push("second"), 20_000);
  clock.setTimer(() => fired.push("first"), 10_000);
  clock.setTimer(() => fired.push("later"), 40_000);
  const cancel = clock.setTimer(() => fired.push("cancelled"), 5_000);
  const slept = clock.sleep(15_000).then(() => fired.push("slept"));
  cancel();
  clock.jump(30_000);
  await slept;
  expect(fired).toEqual(["first", "second", "slept"]);
  expect(clock.now() - now).toBeGreaterThanOrEqual(30_000);
  expect(clock.monotonic() - monotonic).toBeGreaterThanOrEqual(30_000);
  clock.jump(10_000);
  expect(fired).toEqual(["first", "second", "slept", "later"]);
});

test("between jumps it runs like any clock", async () => {
  const clock = new SkewedClock();
  const fired: string[] = [];
  clock.setTimer(() => fired.push("soon"), 1_010);
  clock.jump(1_000);
  expect(fired).toEqual([]);
  await sleep(100);
  expect(fired).toEqual(["soon"]);
});

test("a sleep ends with the reason of its signal", async () => {
  const stop = new AbortController();
  const slept = new SkewedClock().sleep(60_000, stop.signal);
  stop.abort(new Error("enough"));
  await expect(slept).rejects.toThrow("enough");
});
