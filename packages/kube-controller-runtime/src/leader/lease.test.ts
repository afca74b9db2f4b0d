import { expect, it } from "vitest";
import { candidateIdentity } from "./lease.ts";

it("names two candidates on one host differently, both with the prefix", () => {
  const identities = [candidateIdentity("op", "host-1"), candidateIdentity("op", "host-1")];
  expect(new Set(identities).size).toBe(2);
  for (const identity of identities) expect(identity).toMatch(/^op-host-1_/);
});
