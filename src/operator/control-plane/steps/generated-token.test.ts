import { expect, test } from "vitest";
import { planToken } from "./generated-token.ts";
import type { TokenCheck } from "./token-check.ts";

const DAY_MS = 24 * 60 * 60_000;
const now = Date.UTC(2026, 0, 1);
const lasting = { expiresAt: now + 31 * DAY_MS };
const ending = { expiresAt: now + 29 * DAY_MS };
const unsettled = { expiresAt: undefined };

test.each<{
  held: { expiresAt: number | undefined } | undefined;
  verdict: TokenCheck["verdict"] | undefined;
  wasGood: boolean;
  plan: ReturnType<typeof planToken>;
}>([
  { held: undefined, verdict: undefined, wasGood: false, plan: "obtain" },
  { held: undefined, verdict: undefined, wasGood: true, plan: "obtain" },
  { held: lasting, verdict: "rejected", wasGood: true, plan: "obtain" },
  { held: lasting, verdict: "unclear", wasGood: false, plan: "obtain" },
  { held: lasting, verdict: "unclear", wasGood: true, plan: "keep" },
  { held: lasting, verdict: "good", wasGood: false, plan: "keep" },
  { held: ending, verdict: "good", wasGood: true, plan: "renew" },
  { held: ending, verdict: "unclear", wasGood: true, plan: "renew" },
  { held: ending, verdict: "unclear", wasGood: false, plan: "obtain" },
  { held: unsettled, verdict: "good", wasGood: false, plan: "renew" },
  { held: unsettled, verdict: "rejected", wasGood: true, plan: "obtain" },
])("$held found $verdict, good before: $wasGood, is to $plan", ({ held, verdict, wasGood, plan }) => {
  expect(planToken(held, verdict, { now, wasGood })).toBe(plan);
});
