import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoff } from "./backoff.ts";

const policy = { baseMs: 200, capMs: 300_000 };
const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("backoff", () => {
  it("doubles from the base up to the cap", () => {
    const longest = [1, 2, 3, 11, 12, 5_000].map((attempt) => backoff(policy, attempt, () => 1));
    expect(longest).toEqual([200, 400, 800, 204_800, 300_000, 300_000]);
  });

  it("waits at least half and never more than the whole of the exponential delay", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), unit, (attempt, random) => {
        const longest = Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1));
        const wait = backoff(policy, attempt, () => random);
        expect(wait).toBeGreaterThanOrEqual(longest / 2);
        expect(wait).toBeLessThanOrEqual(longest);
      }),
    );
  });

  it("spreads callers that failed together", () => {
    expect(backoff(policy, 4, () => 0.1)).not.toBe(backoff(policy, 4, () => 0.9));
  });
});
