import { describe, expect, it } from "vitest";
import { loadRecording } from "../../test/contract/coderd-recordings.ts";
import { externalProvisionerDaemons, isAllowed, licenseTier, warningsOf } from "./entitlements.ts";
import { entitlements as decoded, type Entitlements } from "./model.ts";

function entitlements(features: Record<string, string>, rest: Partial<Entitlements> = {}): Entitlements {
  const uncounted = { used: undefined, allowed: undefined };
  const limits = { seats: uncounted, managedAgents: uncounted, aiSeats: uncounted };
  return { hasLicense: true, trial: false, features, ...limits, warnings: [], ...rest };
}

const ENTERPRISE = { custom_roles: "not_entitled", multiple_organizations: "not_entitled" };

describe("the license tier", () => {
  it.each([
    ["none", entitlements(ENTERPRISE, { hasLicense: false })],
    ["none", entitlements({ custom_roles: "entitled" }, { hasLicense: false, trial: true })],
    ["trial", entitlements({ custom_roles: "entitled" }, { trial: true })],
    ["premium", entitlements({ ...ENTERPRISE, custom_roles: "entitled" })],
    ["premium", entitlements({ ...ENTERPRISE, custom_roles: "grace_period" })],
    ["premium", entitlements({ ...ENTERPRISE, multiple_organizations: "entitled" })],
    ["premium", entitlements({ ...ENTERPRISE, multiple_organizations: "grace_period" })],
    ["enterprise", entitlements(ENTERPRISE)],
    ["enterprise", entitlements({ audit_log: "entitled" })],
    ["unknown", entitlements({})],
  ])("is %s", (tier, given) => {
    expect(licenseTier(given)).toBe(tier);
  });
});

describe("the entitlement to external provisioner daemons", () => {
  it.each([
    ["entitled", true],
    ["grace_period", true],
    ["not_entitled", false],
  ] as const)("%s allows them: %s", (value, allowed) => {
    const entitlement = externalProvisionerDaemons(entitlements({ external_provisioner_daemons: value }));
    expect(entitlement).toBe(value);
    expect(isAllowed(entitlement)).toBe(allowed);
  });

  it("is unknown if coderd reports no value or a new one, and does not count", () => {
    expect(externalProvisionerDaemons(entitlements({}))).toBe("unknown");
    const strange = externalProvisionerDaemons(entitlements({ external_provisioner_daemons: "maybe" }));
    expect(isAllowed(strange)).toBe(false);
  });
});

describe("what a real coderd with a premium license says", () => {
  const premium = (version: "2.36.1" | "2.26.0") =>
    decoded(loadRecording("entitlements-premium", version).response.body, "");

  it("only contains warnings that require action", () => {
    expect(premium("2.36.1").warnings).toHaveLength(2);
    expect(warningsOf(premium("2.36.1"))).toEqual(["Your license expires in 1 day."]);
    expect(warningsOf(premium("2.26.0"))).toEqual(["Your license expires in 1 day."]);
  });

  it("has a limit of agents where it knows one, and none for seats", () => {
    const none = { used: undefined, allowed: undefined };
    expect(premium("2.36.1")).toMatchObject({
      seats: { allowed: undefined },
      managedAgents: { used: 0, allowed: 1_000 },
      aiSeats: none,
    });
    expect(premium("2.26.0")).toMatchObject({ managedAgents: none, aiSeats: none });
  });
});
