/** Adds to the reference page of messages what `make messages` collected. `make generate` does the rest. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Message } from "../../lab/messages.ts";
import { messagesOn, messagesPage } from "./page.ts";
import { patternOf, textsIn } from "./texts.ts";

const [collection = ""] = process.argv.slice(2);
const root = fileURLToPath(new URL("../..", import.meta.url));
const page = `${root}docs/reference/messages.md`;
const texts = textsIn(root);
const wholes = texts
  .filter(({ isWhole }) => isWhole)
  .map((text) => new RegExp(`^${patternOf(text).source}$`, "s"));
const collected = readFileSync(collection, "utf8").trim().split("\n");
const seen = collected.map((line) => JSON.parse(line) as Message);
// Other tests saw these. A message of several sentences may be one that nobody writes any more.
const known = messagesOn(readFileSync(page, "utf8"), texts).filter(({ message }) =>
  wholes.some((whole) => whole.test(message)),
);
writeFileSync(page, messagesPage({ messages: [...seen, ...known], texts, refusals: new Map() }));
console.log(`${new Set(collected).size} messages were seen`);
