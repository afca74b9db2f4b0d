import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCampaign } from "../chaos/campaign.ts";

/**
 * A bit of everything in so short a time, see `make chaos` for the rest: but no deletion of a control plane with its
 * dependents in place, whose token lives on for a minute.
 */
const SEED = 51;

test("a short storm over a small fleet leaves everything as it should be, and nothing behind", {
  timeout: 240_000,
}, async () => {
  const lines: string[] = [];
  const violations = await runCampaign(
    {
      seed: SEED,
      durationMs: 12_000,
      objects: 2,
      quickToHeal: true,
      healWithinMs: 120_000,
      steadyMs: 3_000,
      quietMs: 5_000,
      logDir: join(tmpdir(), "coder-k8s-chaos-logs"),
    },
    (line) => lines.push(line),
  );
  expect(violations, lines.join("\n")).toEqual([]);
});
