import { describe, expect, test } from "vitest";
import type { Entitlements } from "../../../coder/model.ts";
import { judgeLicense, licensingOf } from "./verdict.ts";

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 24 * 60 * 60_000;

/** A license with dates in days from now. */
const license = (expires: number, { starts = -100, graceEnds = expires } = {}) => ({
  id: 1,
  uuid: "u",
  term: {
    starts: NOW + starts * DAY_MS,
    expires: NOW + expires * DAY_MS,
    graceEnds: NOW + graceEnds * DAY_MS,
  },
});

const licensed: Entitlements = {
  hasLicense: true,
  trial: false,
  features: {},
  seats: { used: 3, allowed: undefined },
  managedAgents: { used: undefined, allowed: undefined },
  aiSeats: { used: undefined, allowed: undefined },
  warnings: [],
};
const trial = { ...licensed, trial: true };
const crowded = { ...licensed, seats: { used: 11, allowed: 10 } };
const unlicensed = { ...licensed, hasLicense: false };

function judge(entitlements: Entitlements, ...licenses: ReturnType<typeof license>[]) {
  const { status, reason, message } = judgeLicense(licensingOf(entitlements, licenses, NOW));
  return { state: `${status} ${reason}`, message };
}

test.each([
  ["without any license", unlicensed, [], "Unknown NoLicense"],
  ["with 30 days left", licensed, [license(30)], "True Valid"],
  ["with 20 days left", licensed, [license(20, { graceEnds: 34 })], "True ExpiresSoon"],
  ["with 20 days of a trial left", trial, [license(20)], "True Valid"],
  ["with 6 days of a trial left", trial, [license(6)], "True ExpiresSoon"],
  ["with 20 days left and a successor", licensed, [license(20), license(300, { starts: 10 })], "True Valid"],
  ["with a successor after a gap", licensed, [license(20), license(300, { starts: 21 })], "True ExpiresSoon"],
  ["in grace", licensed, [license(-1, { graceEnds: 13 })], "False InGrace"],
  ["after the grace", unlicensed, [license(-20, { graceEnds: -6 })], "False Expired"],
  ["after the grace, before coderd has noticed", licensed, [license(-20)], "False Expired"],
  ["before the term", unlicensed, [license(300, { starts: 2 })], "False NotStarted"],
  ["with more users than seats", crowded, [license(300)], "False OverSeats"],
  ["with all seats taken", { ...crowded, seats: { used: 10, allowed: 10 } }, [license(300)], "True Valid"],
  ["that coderd does not accept", unlicensed, [license(300)], "False NotAccepted"],
])("a deployment %s is %4$s", (_, entitlements, licenses, expected) => {
  expect(judge(entitlements, ...licenses).state).toBe(expected);
});

describe("the message", () => {
  test("gives dates, which do not change from day to day", () => {
    expect(judge(licensed, license(20, { graceEnds: 34 })).message).toBe(
      "The license expires on 2026-01-21, and its grace period ends on 2026-02-04; upload a new license, or store it in the Secret of spec.licenseSecretRef.",
    );
  });

  test("names the same day once, where there is no grace", () => {
    expect(judge(licensed, license(20)).message).toBe(
      "The license expires on 2026-01-21, without a grace period; upload a new license, or store it in the Secret of spec.licenseSecretRef.",
    );
    expect(judge(unlicensed, license(-20)).message).toBe(
      "The license expired on 2025-12-12; licensed features are disabled. To enable them, upload a new license, or store it in the Secret of spec.licenseSecretRef.",
    );
  });

  test("says both when there are too many users and the term is about to end or has ended", () => {
    expect(judge(crowded, license(20)).message).toMatch(/11 users .+ 10 seats.+ expires on 2026-01-21/);
    expect(judge(crowded, license(-1, { graceEnds: 5 })).message).toMatch(/expired on 2025-12-31.+11 users/);
  });

  test("quotes coderd on a license that it does not accept, without what looks like a secret", () => {
    const jwt = "eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJ4eHh4eHh4eHh4eHgifQ.c2lnbmF0dXJlc2lnbmF0dXJl";
    const { message } = judge({ ...unlicensed, warnings: [`Invalid license ${jwt}`] }, license(300));
    expect(message).toContain("Invalid license");
    expect(message).not.toContain(jwt);
  });
});
