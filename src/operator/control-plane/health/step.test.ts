import { fingerprint } from "kube-controller-runtime";
import { VirtualClock } from "kube-controller-runtime/testing";
import { expect, test } from "vitest";
import { newMemory } from "../memory.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { reportHealth } from "./step.ts";

const NOW = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** Delay until the next reconcile if coderd was asked at the given time. */
async function nextRun(askedAt: number): Promise<number | undefined> {
  const controlPlane = { operatorAccess: { kind: "generated" } };
  const snapshot = { now: NOW, controlPlane, poolsCanScaleToZero: false } as unknown as Snapshot;
  const healthAsked = { inputs: fingerprint(["token"]), answer: new Promise<never>(() => {}) };
  const memory = { ...newMemory({ random: () => 0.5 }), health: { held: [], askedAt }, healthAsked };
  const clock = new VirtualClock();
  // A busy reconcile does not wait for a slow response.
  const inputs = { token: "token", isBusy: true, outage: undefined };
  const run = reportHealth(snapshot, { memory, clock } as unknown as Environment, inputs);
  await clock.advance(100);
  return (await run).requeueAfterMs;
}

test.each([
  ["waits for the rest of five minutes", NOW - MINUTE_MS, 4 * MINUTE_MS],
  ["comes at once after that", NOW - 5 * MINUTE_MS, 1_000],
  ["comes at once when the clock was set back", NOW + 180 * MINUTE_MS, 1_000],
])("another question %s", async (_case, askedAt, expected) => {
  expect(await nextRun(askedAt)).toBe(expected);
});
