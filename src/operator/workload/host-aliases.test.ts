import { describe, expect, test } from "vitest";
import { aliasesFor, mergeAliases } from "./host-aliases.ts";

const coder = { ip: "10.96.0.7", hostnames: ["coder.example.com"] };

describe("host aliases", () => {
  test.each([
    ["the operator's alone stay as they are", [coder], [], [coder]],
    [
      "those of both are there",
      [coder],
      [{ ip: "1.1.1.1", hostnames: ["a"] }],
      [coder, { ip: "1.1.1.1", hostnames: ["a"] }],
    ],
    [
      "a name that both map is the user's",
      [coder],
      [{ ip: "1.1.1.1", hostnames: coder.hostnames }],
      [{ ip: "1.1.1.1", hostnames: coder.hostnames }],
    ],
    [
      "each address is there once",
      [coder],
      [{ ip: coder.ip, hostnames: ["a"] }],
      [{ ip: coder.ip, hostnames: ["coder.example.com", "a"] }],
    ],
  ])("%s", (_case, ours, users, merged) => {
    expect(mergeAliases(ours, users)).toEqual(merged);
  });

  test("of a Deployment are the operator's only for the host of the URL", () => {
    const hostAliases = [
      { ip: coder.ip, hostnames: ["a", "coder.example.com"] },
      { ip: "1.1.1.1", hostnames: ["b"] },
    ];
    const deployment = { spec: { selector: {}, template: { spec: { containers: [], hostAliases } } } };
    expect(aliasesFor("https://coder.example.com:8443", deployment)).toEqual([coder]);
    expect(aliasesFor("https://other.example.com", deployment)).toEqual([]);
    expect(aliasesFor(undefined, deployment)).toEqual([]);
  });
});
