import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCampaign } from "../chaos/campaign.ts";

/**
 * A bit of everything that heals without waiting for a lease or a back-off; see `make chaos` for the rest, and for the
 * quiet after it.
 */
const SEED = 71_456;

test("a short storm over a small fleet leaves everything as it should be, and nothing behind", {
  timeout: 240_000,
}, async () => {
  const lines: string[] = [];
  const violations = await runCampaign(
    {
      seed: SEED,
      durationMs: 8_000,
      objects: 2,
      quickToHeal: true,
      healWithinMs: 120_000,
      steadyMs: 1_000,
      quietMs: 0,
      logDir: join(tmpdir(), "coder-k8s-chaos-logs"),
    },
    (line) => lines.push(line),
  );
  expect(violations, lines.join("\n")).toEqual([]);
});
