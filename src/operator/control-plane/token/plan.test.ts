import { expect, test } from "vitest";
import type { TokenCheck } from "./check.ts";
import { planToken, type TokenFacts, type TokenPlan } from "./plan.ts";

const DAY_MS = 24 * 60 * 60_000;
const now = Date.UTC(2026, 0, 1);
const lasting = { expiresAt: now + 31 * DAY_MS };
const ending = { expiresAt: now + 29 * DAY_MS };
const unsettled = { expiresAt: undefined };

test.each<{
  held: { expiresAt: number | undefined } | undefined;
  verdict: TokenCheck["verdict"] | undefined;
  wasGood: boolean;
  plan: TokenPlan["do"];
}>([
  { held: undefined, verdict: undefined, wasGood: false, plan: "obtain" },
  { held: undefined, verdict: undefined, wasGood: true, plan: "obtain" },
  { held: lasting, verdict: undefined, wasGood: true, plan: "check" },
  { held: lasting, verdict: "rejected", wasGood: true, plan: "obtain" },
  { held: lasting, verdict: "unclear", wasGood: false, plan: "obtain" },
  { held: lasting, verdict: "unclear", wasGood: true, plan: "keep" },
  { held: lasting, verdict: "good", wasGood: false, plan: "keep" },
  { held: ending, verdict: "good", wasGood: true, plan: "renew" },
  { held: ending, verdict: "unclear", wasGood: true, plan: "renew" },
  { held: ending, verdict: "unclear", wasGood: false, plan: "obtain" },
  { held: unsettled, verdict: "good", wasGood: false, plan: "renew" },
  { held: unsettled, verdict: "rejected", wasGood: true, plan: "obtain" },
])("$held found $verdict, previously good: $wasGood, is to $plan", ({ held, verdict, wasGood, plan }) => {
  const check = verdict && { verdict };
  expect(planToken({ now, held, check, wasGood, database: "unasked" })).toEqual({ do: plan });
});

const good: TokenFacts = {
  now,
  held: lasting,
  check: { verdict: "good" },
  wasGood: true,
  database: "unasked",
};

test.each<[string, Partial<TokenFacts>, TokenPlan["do"]]>([
  [
    "whose user is not a member of an organization is renewed",
    { check: { verdict: "good", lacksMembership: true } },
    "renew",
  ],
  [
    "that the database has yet to confirm is obtained, whatever coderd says",
    { database: "issued" },
    "obtain",
  ],
  [
    "that the database has confirmed is kept, whatever is noted of its end",
    { database: "confirmed", held: ending },
    "keep",
  ],
])("a token %s", (_case, facts, plan) => {
  expect(planToken({ ...good, ...facts })).toEqual({ do: plan });
});
