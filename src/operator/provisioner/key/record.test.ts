import { expect, test } from "vitest";
import { tagsHash } from "./record.ts";
import { keyChecksum } from "./secret.ts";

test.each([
  ["no tags", {}, "811c9dc5"],
  ["two tags", { hardware: "gpu", region: "eu-west" }, "0ad6d0c5"],
  ["the same, written the other way round", { region: "eu-west", hardware: "gpu" }, "0ad6d0c5"],
])("hash of %s", (_case, tags, expected) => {
  expect(tagsHash(tags)).toBe(expected);
});

test("tags are distinguished where only the border between name and value differs", () => {
  expect(tagsHash({ ab: "c" })).not.toBe(tagsHash({ a: "bc" }));
  expect(tagsHash({ a: "", b: "" })).not.toBe(tagsHash({ a: "b" }));
});

test("names are sorted by their bytes, as in clusters that have such hashes already", () => {
  // In UTF-16 order, the emoji would be first.
  const emojiLast = "\uff21\0fullwidth\0\u{1f600}\0emoji\0";
  expect(tagsHash({ "\u{1f600}": "emoji", "\uff21": "fullwidth" })).toBe(keyChecksum(emojiLast));
});

test("the checksum of a key", () => {
  expect(keyChecksum("secret-key")).toBe("6a82cc93");
});
