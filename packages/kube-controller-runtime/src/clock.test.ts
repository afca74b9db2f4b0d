import { expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

const MONTH_MS = 31 * 24 * 60 * 60 * 1_000;

test("a wait that is too long for a timer of the platform does not end at once", async () => {
  const fired = vi.fn();
  const cancel = systemClock.setTimer(fired, MONTH_MS);
  const end = new AbortController();
  const slept = systemClock.sleep(MONTH_MS, end.signal).then(fired, () => "aborted");
  await systemClock.sleep(20);
  expect(fired).not.toHaveBeenCalled();
  cancel();
  end.abort();
  expect(await slept).toBe("aborted");
});
