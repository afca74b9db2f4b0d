import { describe, expect, test } from "vitest";
import type { HealthFinding } from "../../../coder/health.ts";
import { verdict } from "./verdict.ts";

const slow: HealthFinding = { section: "database", code: "EDB02", isError: false };
const unreachable: HealthFinding = { section: "access_url", code: "EACS03", isError: true };
const noDaemons: HealthFinding = { section: "provisioner_daemons", code: "EPD01", isError: true };
const odd: HealthFinding = { section: "derp", code: "EUNKNOWN", isError: true };

test("a coderd without findings is healthy", () => {
  expect(verdict([], false)).toMatchObject({ status: "True", reason: "ChecksPass" });
});

test("warnings are named and leave it healthy", () => {
  const { status, reason, message } = verdict([slow], false);
  expect([status, reason]).toEqual(["True", "ChecksWarn"]);
  expect(message).toContain("warning EDB02: the database responds slowly");
});

test("an error makes it unhealthy, with the part as the reason, and precedes warnings", () => {
  const { status, reason, message } = verdict([slow, unreachable], false);
  expect([status, reason]).toEqual(["False", "AccessURLFailing"]);
  expect(message).toMatch(/error EACS03: .+; warning EDB02: /);
});

test("the order in which findings are reported makes no difference", () => {
  const findings = [slow, unreachable, noDaemons, odd];
  expect(verdict(findings.toReversed(), false)).toEqual(verdict(findings, false));
});

test("an unknown code is reported with its section", () => {
  expect(verdict([odd], false).message).toContain("error EUNKNOWN: a problem with relays (DERP)");
  const later = { ...odd, code: "EDERP99" };
  expect(verdict([later], false).message).toContain("error EDERP99: a problem with relays (DERP)");
});

describe("no connected daemon", () => {
  test("is an error", () => {
    expect(verdict([noDaemons], false)).toMatchObject({
      status: "False",
      reason: "ProvisionerDaemonsFailing",
    });
  });

  test("does not count while every pool can scale to zero, and its changes are not reported", () => {
    expect(verdict([noDaemons], true)).toMatchObject({ status: "True", reason: "ChecksPass" });
    expect(verdict([noDaemons], true)).toEqual(verdict([], true));
    expect(verdict([noDaemons, unreachable], true).message).not.toContain("error EPD01");
  });
});
