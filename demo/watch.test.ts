import { VirtualClock } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { Row } from "./rows.ts";
import { watch } from "./watch.ts";

const ready: Row = { title: "CoderControlPlane/coder", facts: [], conditions: [] };
const blocked: Row = {
  title: "CoderProvisioner/linux",
  facts: [],
  conditions: [],
  blocked: "ExternalProvisionersEntitled is False (NotEntitled): the license has expired",
};

/** A demo whose objects have these states in sequence, the last one permanently. */
function demo(looks: readonly (readonly Row[])[]) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let looked = 0;
  const over = watch(async () => looks[Math.min(looked++, looks.length - 1)] ?? [], {
    enough: (late) => late.length === 0,
    withinMs: 10_000,
    tickMs: 200,
    clock,
    signal: stop.signal,
  });
  over.catch(() => undefined);
  return { clock, stop, over, looked: () => looked };
}

describe("the demo", () => {
  test("continues as soon as every object is ready", async () => {
    const { clock, over, looked } = demo([[ready, blocked], [ready, blocked], [ready]]);
    await clock.advance(1_000);
    await over;
    expect(looked()).toBe(3);
  });

  test("says which object is not ready in time, and why", async () => {
    const { clock, over } = demo([[ready, blocked]]);
    await clock.advance(10_000);
    await expect(over).rejects.toThrow(
      "not ready within 10.0s:\n  CoderProvisioner/linux: ExternalProvisionersEntitled is False (NotEntitled): the license has expired",
    );
  });

  test("stops after it is asked to end", async () => {
    const { clock, stop, over, looked } = demo([[blocked]]);
    await clock.advance(100);
    stop.abort();
    await over;
    expect(looked()).toBe(1);
  });
});
