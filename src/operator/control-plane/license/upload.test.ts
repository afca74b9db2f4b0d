import { expect, test } from "vitest";
import { planLicense } from "./upload.ts";

test.each([
  ["one that coderd was never given is uploaded", undefined, false, undefined, "upload"],
  ["another one than coderd was given last is uploaded", "old", true, undefined, "upload"],
  ["one that coderd has is kept", "new", false, undefined, "keep"],
  ["coderd is asked now and then whether it still has one", "new", true, undefined, "list"],
  ["one that coderd still lists is kept", "new", true, true, "keep"],
  ["one that coderd has lost is uploaded again", "new", true, false, "upload"],
])("of licenses, %s", (_case, appliedHash, isListDue, isListed, plan) => {
  expect(planLicense({ appliedHash, isListed }, { hash: "new", isListDue })).toEqual({ do: plan });
});
