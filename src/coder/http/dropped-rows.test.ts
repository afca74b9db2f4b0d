import fc from "fast-check";
import { expect, it } from "vitest";
import { DroppedRows } from "./dropped-rows.ts";

const isOffline = (row: unknown) => (row as { status?: unknown } | null)?.status === "offline";

/** Result for a text that arrives in chunks of the given sizes. */
function filtered(text: string, sizes: readonly number[]): string {
  const bytes = Buffer.from(text);
  const rows = new DroppedRows({ containing: '"offline"', isDropped: isOffline });
  const kept: Uint8Array[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const end = start + (sizes[turn % sizes.length] ?? 1);
    kept.push(...rows.filter(bytes.subarray(start, end)));
    start = end;
  }
  return Buffer.concat([...kept, ...rows.end()]).toString("utf8");
}

const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
const word = fc.oneof(fc.string(), fc.constantFrom("offline", "[", "]", "},{", '"', "\\", ","));
const daemon = fc.record({
  status: word,
  tags: fc.oneof(fc.dictionary(word, word), fc.constant({ status: "offline" })),
  jobs: fc.array(fc.record({ status: word })),
});

it("omits those rows and changes nothing else, for any chunk boundaries", () => {
  fc.assert(
    fc.property(fc.array(daemon), sizes, (daemons, cuts) => {
      const expected = daemons.filter((row) => !isOffline(row));
      expect(filtered(JSON.stringify(daemons), cuts)).toBe(JSON.stringify(expected));
    }),
  );
});

it.each([
  ["another value", "null"],
  ["an error", '{"message":"[{\\"status\\":\\"offline\\"}]","list":[{"status":"offline"}]}'],
  ["HTML", "<html>[</html>"],
  ["a list that was cut", '[{"status":"idle"},{"status":"off'],
  ["nothing", " "],
])("passes %s unchanged", (_, text) => {
  expect(filtered(text, [3])).toBe(text);
});
