import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { elapsed, withTicker } from "./progress.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("a long preparation shows a sign of life every ten seconds, and none after its end", async () => {
  const lines: string[] = [];
  const work = new Promise<void>((resolve) => setTimeout(resolve, 25_000));
  const ticking = withTicker(
    (line) => lines.push(line),
    () => "building",
    () => work,
  );
  await vi.advanceTimersByTimeAsync(60_000);
  await ticking;
  expect(lines).toEqual(["building (10s so far)", "building (20s so far)"]);
});

test("time spent reads like a person would say it", () => {
  expect([400, 59_400, 95_000, 600_000].map(elapsed)).toEqual(["0s", "59s", "1m35s", "10m0s"]);
});
