import { expect, test } from "vitest";
import { newMemory } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { reportHealth } from "./step.ts";

const NOW = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** When the next run comes, for a coderd that was asked at a time. */
async function nextRun(askedAt: number): Promise<number | undefined> {
  const controlPlane = { operatorAccess: { kind: "generated" } };
  const snapshot = { now: NOW, controlPlane, poolsMayRest: false } as unknown as Snapshot;
  const memory = { ...newMemory({ random: () => 0.5 }), health: { held: [], askedAt } };
  // A busy run leaves the question to the next one.
  const inputs = { token: "token", isBusy: true, outage: undefined };
  return (await reportHealth(snapshot, { memory } as unknown as Environment, inputs)).requeueAfterMs;
}

test.each([
  ["waits for the rest of five minutes", NOW - MINUTE_MS, 4 * MINUTE_MS],
  ["comes at once after that", NOW - 5 * MINUTE_MS, 1_000],
  ["comes at once when the clock was set back", NOW + 180 * MINUTE_MS, 1_000],
])("another question %s", async (_case, askedAt, expected) => {
  expect(await nextRun(askedAt)).toBe(expected);
});
