import { describe, expect, it } from "vitest";
import { rateLimitDelay, retryAfterMs } from "./rate-limit.ts";

const longest = () => 0.999_999;
const shortest = () => 0;

describe("the delay after a rate-limited answer", () => {
  it("starts at 2 s and doubles to 2 min", () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 100].map((attempt) =>
      Math.round(rateLimitDelay(attempt, undefined, longest) / 1_000),
    );
    expect(delays).toEqual([2, 4, 8, 16, 32, 64, 120, 120, 120]);
  });

  it("is spread, so that callers do not return together", () => {
    expect(rateLimitDelay(3, undefined, shortest)).toBe(8_000);
    expect(rateLimitDelay(3, undefined, () => 0.5)).toBe(12_000);
  });

  it("is never shorter than what coderd asked for", () => {
    for (const random of [shortest, longest])
      expect(rateLimitDelay(0, 60_000, random)).toBeGreaterThanOrEqual(60_000);
  });

  it("still grows while coderd requests less", () => {
    expect(rateLimitDelay(5, 1_000, shortest)).toBe(32_000);
  });
});

describe("a Retry-After header", () => {
  const now = Date.UTC(2026, 0, 1);

  it("is read as seconds or as a date", () => {
    expect(retryAfterMs("59", now)).toBe(59_000);
    expect(retryAfterMs(new Date(now + 30_000).toUTCString(), now)).toBe(30_000);
  });

  it("in the past requests no delay", () => {
    expect(retryAfterMs(new Date(now - 30_000).toUTCString(), now)).toBe(0);
  });

  it("that is missing or invalid requests nothing", () => {
    expect(retryAfterMs(undefined, now)).toBeUndefined();
    expect(retryAfterMs("soon", now)).toBeUndefined();
  });
});
