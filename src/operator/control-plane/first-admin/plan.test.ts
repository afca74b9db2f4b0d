import { describe, expect, test } from "vitest";
import type { FirstAdminStatus } from "../../../api/v1alpha1/first-admin.ts";
import { type FirstAdminFacts, planFirstAdmin } from "./plan.ts";

const wanted = { email: "admin@example.com", username: "admin", isGenerated: true };
const given = { ...wanted, isGenerated: false };
const recorded = (state: FirstAdminStatus["state"]): FirstAdminStatus => ({ ...wanted, state });
const other = { ...recorded("Created"), email: "other@example.com" };

const untouched: FirstAdminFacts = {
  wanted,
  recorded: undefined,
  isServing: true,
  isCheckDue: true,
  hasUsers: undefined,
  password: undefined,
  isVerified: undefined,
};

const existing = { do: "accept", state: "UsersExist" };
const settled = { recorded: recorded("Created") };
const lost = { recorded: recorded("Creating"), hasUsers: true, password: "p" };

describe("the first admin", () => {
  test.each<[guarantee: string, facts: Partial<FirstAdminFacts>, plan: object]>([
    ["waits for a ready pod", { isServing: false }, { do: "wait" }],
    ["waits for a given password at once", { isServing: false, wanted: given }, { do: "awaitPassword" }],
    ["is not asked for before coderd says that it has no users", {}, { do: "check" }],
    ["gets a password that is stored before coderd gets it", { hasUsers: false }, { do: "storePassword" }],
    ["is not made up without a given password", { hasUsers: false, wanted: given }, { do: "awaitPassword" }],
    [
      "is created with the stored password",
      { hasUsers: false, password: "p" },
      { do: "create", password: "p" },
    ],
    ["is someone else where the operator tried nothing", { hasUsers: true, password: "p" }, existing],
    ["may be the operator's after a lost answer", lost, { do: "verify", password: "p" }],
    [
      "is the operator's where the password fits",
      { ...lost, isVerified: true },
      { do: "accept", state: "Created" },
    ],
    ["is someone else where it does not fit", { ...lost, isVerified: false }, existing],
    ["is someone else where the password is gone", { ...lost, password: undefined }, existing],
    [
      "is created again after an attempt that failed",
      { ...lost, hasUsers: false },
      { do: "create", password: "p" },
    ],
    ["is left alone while a check is not due", { ...settled, isCheckDue: false }, { do: "keep" }],
    ["is left alone while coderd does not serve", { ...settled, isServing: false }, { do: "keep" }],
    ["is looked for now and then", settled, { do: "check" }],
    ["is left alone where coderd has users", { ...settled, hasUsers: true }, { do: "keep" }],
    [
      "is created again in a new database",
      { ...settled, hasUsers: false, password: "p" },
      { do: "create", password: "p" },
    ],
    ["is looked for where the spec names another", { recorded: other, isCheckDue: false }, { do: "check" }],
    ["is never changed where the spec names another", { recorded: other, hasUsers: true }, existing],
  ])("%s", (_guarantee, facts, plan) => {
    expect(planFirstAdmin({ ...untouched, ...facts })).toEqual(plan);
  });

  test("is the same under another spelling of name and address", () => {
    const settledBefore = { ...recorded("Created"), email: "Admin@Example.com", username: "ADMIN" };
    expect(planFirstAdmin({ ...untouched, recorded: settledBefore, isCheckDue: false })).toEqual({
      do: "keep",
    });
  });
});
