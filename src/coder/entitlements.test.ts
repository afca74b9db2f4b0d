import { describe, expect, it } from "vitest";
import { externalProvisionerDaemons, isAllowed, licenseTier } from "./entitlements.ts";
import type { Entitlements } from "./model.ts";

function entitlements(features: Record<string, string>, rest: Partial<Entitlements> = {}): Entitlements {
  const seats = { used: undefined, allowed: undefined };
  return { hasLicense: true, trial: false, features, seats, warnings: [], ...rest };
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

  it("is unknown where coderd says nothing or something new, and does not count", () => {
    expect(externalProvisionerDaemons(entitlements({}))).toBe("unknown");
    const strange = externalProvisionerDaemons(entitlements({ external_provisioner_daemons: "maybe" }));
    expect(isAllowed(strange)).toBe(false);
  });
});
