import { expect, test } from "vitest";
import type { Where } from "./cluster.ts";
import type { Command, Context } from "./command.ts";
import { complete } from "./completion.ts";

const nothing = { summary: "", examples: [], run: async () => Promise.reject(new Error("not run")) };
const commands: readonly Command[] = [
  {
    ...nothing,
    name: "status",
    arguments: [{ name: "name", summary: "", complete: async () => ["coder", "other"] }],
  },
  { ...nothing, name: "upgrade check", arguments: [{ name: "image", summary: "" }] },
  {
    ...nothing,
    name: "rotate",
    arguments: [{ name: "what", summary: "", choices: ["provisioner", "token"] }],
  },
  { ...nothing, name: "watch", flags: [{ flags: "-w, --watch", summary: "" }] },
];

/** The candidates for the last of the words, and where the cluster was asked. */
async function completed(...words: string[]): Promise<{ candidates: string[]; asked: Where[] }> {
  const asked: Where[] = [];
  const candidates = await complete(words, commands, (where, names) => {
    asked.push(where);
    return names({} as Context);
  });
  return { candidates, asked };
}

test.each([
  [["s"], ["status"]],
  [[""], ["status", "upgrade", "rotate", "watch"]],
  [["upgrade", ""], ["check"]],
  [["rotate", "t"], ["token"]],
  [["watch", "--w"], ["--watch"]],
  [
    ["status", "-o", ""],
    ["json", "yaml"],
  ],
  [["upgrade", "check", ""], []],
  [["unknown", ""], []],
])("the words %j are completed by %j, and never by files", async (words, expected) => {
  expect((await completed(...words)).candidates).toEqual([...expected, ":4"]);
});

test("names come from the cluster and namespace of the flags, in any position", async () => {
  const { candidates, asked } = await completed("-n", "dev", "status", "--context=east", "c");
  expect(candidates).toEqual(["coder", ":4"]);
  expect(asked).toMatchObject([{ namespace: "dev", context: "east" }]);
});
