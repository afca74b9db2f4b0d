import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutate } from "./copy.ts";
import { mutants } from "./mutants.ts";

const mutant = { guard: "", file: "f.ts", from: "a", to: "b", tests: [] };

test("a guard is broken where it stands", () => {
  expect(mutate("(a)", mutant)).toBe("(b)");
});

test("a list that no longer fits the code is an error, and so is a text that is there twice", () => {
  expect(() => mutate("c", mutant)).toThrow("f.ts has no longer: a");
  expect(() => mutate("a a", mutant)).toThrow("f.ts has more than once: a");
});

test.for(mutants)("the code still has the guard: $guard", (guard) => {
  const text = readFileSync(new URL(`../../${guard.file}`, import.meta.url), "utf8");
  expect(mutate(text, guard)).not.toBe(text);
});
