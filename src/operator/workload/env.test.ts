import { describe, expect, test } from "vitest";
import { type EnvFromSource, type EnvVar, envFromKeys, isSetByUser, mergeEnv } from "./env.ts";

const variables = (...pairs: string[]): EnvVar[] =>
  pairs.map((pair) => ({ name: pair.split("=")[0] ?? "", value: pair.split("=")[1] ?? "" }));

describe("merging variables", () => {
  test.each<[string, string[], string[], string[]]>([
    ["ours come first", ["A=1", "B=2"], ["C=3"], ["A=1", "B=2", "C=3"]],
    ["the user wins in our place", ["A=1", "B=$(A)"], ["C=3", "A=9"], ["A=9", "B=$(A)", "C=3"]],
    ["what refers to others stays behind them", ["A=1", "B=2"], ["C=3", "A=$(C)"], ["B=2", "C=3", "A=$(C)"]],
    ["the user's last one wins", [], ["A=1", "B=2", "A=3"], ["A=3", "B=2"]],
    ["nothing is nothing", [], [], []],
  ])("%s", (_case, ours, users, expected) => {
    expect(mergeEnv(variables(...ours), variables(...users))).toEqual(variables(...expected));
  });

  test("a variable from a field or a Secret takes our place: it refers to no other variable", () => {
    const podIP: EnvVar = { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } };
    expect(mergeEnv(variables("IP=1", "URL=$(IP)"), [podIP])).toEqual([podIP, ...variables("URL=$(IP)")]);
  });
});

describe("where envFrom may define a variable", () => {
  const secret = (name: string, prefix?: string): EnvFromSource => ({
    ...(prefix === undefined ? {} : { prefix }),
    secretRef: { name },
  });

  test.each<[string, EnvFromSource[], unknown[]]>([
    ["no sources", [], []],
    ["a Secret", [secret("s")], [{ kind: "Secret", name: "s", key: "CODER_ACCESS_URL" }]],
    [
      "a ConfigMap",
      [{ configMapRef: { name: "c" } }],
      [{ kind: "ConfigMap", name: "c", key: "CODER_ACCESS_URL" }],
    ],
    ["a prefix that fits", [secret("s", "CODER_")], [{ kind: "Secret", name: "s", key: "ACCESS_URL" }]],
    ["a prefix that does not fit", [secret("s", "APP_")], []],
    ["a prefix that leaves no key", [secret("s", "CODER_ACCESS_URL")], []],
    ["a source without a name", [{ secretRef: {} }], []],
    [
      "two sources: the later one wins",
      [secret("first"), secret("second", "CODER_")],
      [
        { kind: "Secret", name: "second", key: "ACCESS_URL" },
        { kind: "Secret", name: "first", key: "CODER_ACCESS_URL" },
      ],
    ],
  ])("%s", (_case, sources, expected) => {
    expect(envFromKeys("CODER_ACCESS_URL", sources)).toEqual(expected);
  });
});

test.each([
  ["in extraEnv", variables("A="), [], true],
  ["through envFrom", [], ["A"], true],
  ["nowhere", variables("B=1"), ["C"], false],
])("a variable set %s", (_case, extraEnv, fromNames, expected) => {
  expect(isSetByUser("A", extraEnv, new Set(fromNames))).toBe(expected);
});
