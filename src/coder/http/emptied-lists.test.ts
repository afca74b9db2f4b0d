import fc from "fast-check";
import { expect, it } from "vitest";
import { EmptiedLists } from "./emptied-lists.ts";

/** Result for a text that arrives in chunks of the given sizes. */
function filtered(text: string, sizes: readonly number[]): string {
  const bytes = Buffer.from(text);
  const lists = new EmptiedLists("workers");
  const kept: Uint8Array[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const end = start + (sizes[turn % sizes.length] ?? 1);
    kept.push(...lists.filter(bytes.subarray(start, end)));
    start = end;
  }
  return Buffer.concat(kept).toString("utf8");
}

const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
const word = fc.oneof(
  fc.string(),
  fc.constantFrom('"workers":[', '"workers":[]', "workers", '\\"workers":[', "]", '\\"]', "\\"),
);
/** Like resources of coderd: lists in objects in lists, with user-defined strings. */
const worker = fc.oneof(
  fc.uuid(),
  word,
  fc.record({
    agents: fc.array(fc.record({ apps: fc.array(fc.array(word)), command: word })),
    workers: fc.array(word),
  }),
);
const job = fc.record(
  { name: word, tags: fc.dictionary(word, word), workers: fc.array(worker) },
  { requiredKeys: ["name"] },
);

it("empties the lists of that name and changes nothing else, for any chunk boundaries", () => {
  fc.assert(
    fc.property(fc.array(job), sizes, (jobs, cuts) => {
      const expected = jobs.map((each) => ("workers" in each ? { ...each, workers: [] } : each));
      expect(filtered(JSON.stringify(jobs), cuts)).toBe(JSON.stringify(expected));
    }),
  );
});

it("keeps a value that is not a list", () => {
  expect(filtered('[{"workers":null},{"workers":["a"]}]', [7])).toBe('[{"workers":null},{"workers":[]}]');
});

it("keeps nothing of a list of any length", () => {
  const text = '[{"a":["]"]}],';
  const chunk = Buffer.from(text.repeat(1024));
  const lists = new EmptiedLists("workers");
  lists.filter(Buffer.from('{"workers":['));
  expect(Array.from({ length: 32 }, () => lists.filter(chunk)).flat()).toEqual([]);
});
