import { describe, expect, test } from "vitest";
import type { Condition } from "../index.ts";
import { announceTransitions, type Transition } from "./announce.ts";

const quiet = new Set(["RollingOut"]);

function condition(type: string, status: string, reason: string): Condition {
  return {
    type,
    status,
    reason,
    message: `${type} is ${reason}`,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
}

/** The events of a transition, as `kubectl describe` shows them. */
function reported(before: Transition["before"], after: Transition["after"]): string[] {
  const lines: string[] = [];
  const events = {
    event: (_object: unknown, { type, reason, message }: { type: string; reason: string; message: string }) =>
      lines.push(`${type} ${reason} ${message}`),
  };
  announceTransitions(events, {}, { before, after, quiet });
  return lines;
}

const made = condition("ServiceReady", "True", "Applied");
const waiting = condition("DeploymentReady", "False", "RollingOut");
const running = condition("DeploymentReady", "True", "AllReplicasReady");
const clash = condition("ServiceReady", "False", "Conflict");
const notReady = { ...waiting, type: "Ready" };
const notServed = { ...clash, type: "Ready" };
const serving = condition("Ready", "True", "Serving");
const accepted = condition("Ready", "False", "Pending");

describe("events for transitions", () => {
  test("the first run emits what was made, and nothing that belongs to a start", () => {
    for (const before of [undefined, [accepted]])
      expect(reported(before, [waiting, made, notReady])).toEqual(["Normal Created ServiceReady is Applied"]);
  });

  test("a first run that made nothing emits only what is wrong", () => {
    expect(reported(undefined, [clash, notServed])).toEqual(["Warning Conflict ServiceReady is Conflict"]);
  });

  test("nothing is emitted when nothing changed", () => {
    expect(reported([running, made, serving], [running, made, serving])).toEqual([]);
  });

  test("becoming ready is emitted once, by the summary", () => {
    expect(reported([waiting, made, notReady], [running, made, serving])).toEqual([
      "Normal Serving Ready is Serving",
    ]);
  });

  test("a rollout is announced once, as Normal, except for the first one", () => {
    expect(reported([running, made, serving], [waiting, made, notReady])).toEqual([
      "Normal RollingOut DeploymentReady is RollingOut",
    ]);
  });

  test("what breaks is emitted by its own condition and not again by the summary", () => {
    expect(reported([running, made, serving], [running, clash, notServed])).toEqual([
      "Warning Conflict ServiceReady is Conflict",
    ]);
  });

  test("what breaks differently is emitted again", () => {
    const refused = condition("ServiceReady", "False", "Forbidden");
    expect(reported([clash, notServed], [refused, { ...refused, type: "Ready" }])).toEqual([
      "Warning Forbidden ServiceReady is Forbidden",
    ]);
  });

  test("what works again is emitted, and so is that everything works", () => {
    expect(reported([running, clash, notServed], [running, made, serving])).toEqual([
      "Normal Applied ServiceReady is Applied",
      "Normal Serving Ready is Serving",
    ]);
  });

  test("a condition that turns Unknown emits no event", () => {
    expect(reported([made], [condition("ServiceReady", "Unknown", "NotConfigured")])).toEqual([]);
  });
});
