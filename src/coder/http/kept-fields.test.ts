import fc from "fast-check";
import { expect, it } from "vitest";
import { KeptFields } from "./kept-fields.ts";
import { NoAnswer } from "./no-answer.ts";

const LEVELS = [new Set(["id", "members"]), new Set(["id"])];

/** What comes out when the text arrives in pieces of the given sizes. */
function filtered(text: string, sizes: readonly number[]): string {
  const bytes = Buffer.from(text);
  const fields = new KeptFields(LEVELS);
  const kept: Uint8Array[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const end = start + (sizes[turn % sizes.length] ?? 1);
    kept.push(...fields.filter(bytes.subarray(start, end)));
    start = end;
  }
  return Buffer.concat(kept).toString("utf8");
}

/** The same, by parsing. */
function picked(value: unknown, level = 0): unknown {
  if (Array.isArray(value)) return value.map((each) => picked(each, level));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => LEVELS[level]?.has(name) ?? true);
  return Object.fromEntries(kept.map(([name, inner]) => [name, picked(inner, level + 1)]));
}

const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
const word = fc.oneof(fc.string(), fc.constantFrom('"id":', "}", '\\"', "\\", ",", "]", "é"));
const name = fc.oneof(fc.constantFrom("id", "members", "idd", '"id"'), word);
const deep = fc.oneof(word, fc.integer(), fc.constant(null), fc.array(fc.dictionary(word, word)));
const member = fc.dictionary(name, deep);
const row = fc.dictionary(name, fc.oneof(deep, fc.array(member)));

it("keeps the fields of each level and nothing else, for any chunk boundaries", () => {
  fc.assert(
    fc.property(fc.array(row), sizes, fc.constantFrom(undefined, 1), (rows, cuts, indent) => {
      const text = JSON.stringify(rows, undefined, indent);
      expect(JSON.parse(filtered(text, cuts))).toEqual(picked(JSON.parse(text)));
    }),
  );
});

it("keeps only the ids of 2,000 users", () => {
  const members = Array.from({ length: 2_000 }, (_, id) => ({ id: `${id}`, username: "x".repeat(100) }));
  const kept = filtered(JSON.stringify([{ id: "a", members, avatar_url: "long" }]), [65_536]);
  expect(kept.length).toBeLessThan(2_000 * 16);
});

it("refuses what is nested without an end", () => {
  expect(() => filtered("[".repeat(1_000), [100])).toThrow(NoAnswer);
});
