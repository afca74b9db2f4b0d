import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutate } from "./copy.ts";
import { mutants } from "./mutants.ts";

const mutant = { guard: "", file: "f.ts", from: "a", to: "b", tests: [] };

test("a guard is broken in place", () => {
  expect(mutate("(a)", mutant)).toBe("(b)");
});

test("a guard that the code no longer contains, or contains twice, is an error", () => {
  expect(() => mutate("c", mutant)).toThrow("f.ts has no longer: a");
  expect(() => mutate("a a", mutant)).toThrow("f.ts has more than once: a");
});

test.for(mutants)("the code still has the guard: $guard", (guard) => {
  const text = readFileSync(new URL(`../../${guard.file}`, import.meta.url), "utf8");
  expect(mutate(text, guard)).not.toBe(text);
});
