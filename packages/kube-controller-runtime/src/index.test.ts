import { expect, test } from "vitest";
import { docOf, isBuiltInKind, publicNames } from "../test/support/public-api.ts";

test("every public name says in a comment what it is for", () => {
  const silent = publicNames().filter((name) => !docOf(name) && !isBuiltInKind(name));
  expect(silent.map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});

test("the entries export what an operator needs first", () => {
  const names = publicNames().map(({ entry, name }) => `${entry} ${name}`);
  expect(names).toEqual(
    expect.arrayContaining([
      ". runOperator",
      ". controller",
      "./prometheus RuntimeMetrics",
      "./pino pinoLogger",
      "./testing FakeApi",
      "./testing VirtualClock",
      "./testing startCluster",
    ]),
  );
});
