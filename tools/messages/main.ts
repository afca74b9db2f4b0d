/** Writes the reference page of messages from what `make messages` collected. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Message } from "../../lab/messages.ts";
import { messagesPage } from "./page.ts";

const [collection = ""] = process.argv.slice(2);
const lines = readFileSync(collection, "utf8").trim().split("\n");
const page = fileURLToPath(new URL("../../docs/reference/messages.md", import.meta.url));
writeFileSync(page, messagesPage(lines.map((line) => JSON.parse(line) as Message)));
console.log(`${new Set(lines).size} messages in docs/reference/messages.md`);
