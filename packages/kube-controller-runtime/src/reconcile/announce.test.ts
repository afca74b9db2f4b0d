import { describe, expect, test } from "vitest";
import type { Condition } from "../index.ts";
import { announceTransitions, type Transition } from "./announce.ts";

const quiet = new Set(["NoReplicaReady", "DeploymentReady"]);

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
function told(before: Transition["before"], after: Transition["after"]): string[] {
  const lines: string[] = [];
  const events = {
    event: (_object: unknown, { type, reason, message }: { type: string; reason: string; message: string }) =>
      lines.push(`${type} ${reason} ${message}`),
  };
  announceTransitions(events, {}, { before, after, quiet });
  return lines;
}

const made = condition("ServiceReady", "True", "Applied");
const waiting = condition("DeploymentReady", "False", "NoReplicaReady");
const running = condition("DeploymentReady", "True", "AllReplicasReady");
const clash = condition("ServiceReady", "False", "Conflict");
const notReady = condition("Ready", "False", "DeploymentReady");
const notServed = condition("Ready", "False", "ServiceReady");
const serving = condition("Ready", "True", "Serving");
const accepted = condition("Ready", "False", "Pending");

describe("events for transitions", () => {
  test("the first look tells what was made, and keeps quiet about what belongs to a start", () => {
    for (const before of [undefined, [accepted]])
      expect(told(before, [waiting, made, notReady])).toEqual(["Normal Created ServiceReady is Applied"]);
  });

  test("a first look that made nothing tells only what is wrong", () => {
    expect(told(undefined, [clash, notServed])).toEqual(["Warning Conflict ServiceReady is Conflict"]);
  });

  test("nothing is told when nothing changed", () => {
    expect(told([running, made, serving], [running, made, serving])).toEqual([]);
  });

  test("becoming ready is told once, by the summary", () => {
    expect(told([waiting, made, notReady], [running, made, serving])).toEqual([
      "Normal Serving Ready is Serving",
    ]);
  });

  test("the loss of all pods is told once, though waiting for them at the start is not", () => {
    expect(told([running, made, serving], [waiting, made, notReady])).toEqual([
      "Warning NoReplicaReady DeploymentReady is NoReplicaReady",
    ]);
  });

  test("what breaks is told by its own condition and not again by the summary", () => {
    expect(told([running, made, serving], [running, clash, notServed])).toEqual([
      "Warning Conflict ServiceReady is Conflict",
    ]);
  });

  test("what breaks differently is told again", () => {
    const refused = condition("ServiceReady", "False", "Forbidden");
    expect(told([clash, notServed], [refused, notServed])).toEqual([
      "Warning Forbidden ServiceReady is Forbidden",
    ]);
  });

  test("what works again is told, and so is that all of it does", () => {
    expect(told([running, clash, notServed], [running, made, serving])).toEqual([
      "Normal Applied ServiceReady is Applied",
      "Normal Serving Ready is Serving",
    ]);
  });

  test("what turns Unknown is no news", () => {
    expect(told([made], [condition("ServiceReady", "Unknown", "NotConfigured")])).toEqual([]);
  });
});
