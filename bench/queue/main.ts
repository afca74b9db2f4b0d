/** Simulates pools that follow the queue, and writes figures and charts to `docs/performance.md`. */
import { readFile, writeFile } from "node:fs/promises";
import { between, PAGE, PICTURES } from "./page.ts";
import { report, SEED } from "./report.ts";

const { markdown, pictures } = report(SEED);
for (const [name, svg] of pictures) await writeFile(new URL(name, PICTURES), svg);
await writeFile(
  PAGE,
  between(await readFile(PAGE, "utf8"), () => markdown),
);
console.log(markdown);
