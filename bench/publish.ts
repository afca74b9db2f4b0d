import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { markdown, type WorkloadResult } from "./report.ts";

interface Measurement {
  readonly results: readonly WorkloadResult[];
}

const JSON_FILE = fileURLToPath(new URL("results.json", import.meta.url));
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const [BEGIN, END] = ["<!-- begin: make bench -->", "<!-- end: make bench -->"];

/**
 * Puts the figures into `bench/results.json` and, between its markers, into `docs/performance.md`. Workloads that were
 * measured alone leave the figures of the others.
 */
export async function publish(results: readonly WorkloadResult[], order: readonly string[]): Promise<void> {
  const earlier = await readFile(JSON_FILE, "utf8").then(
    (text) => (JSON.parse(text) as Measurement).results,
    () => [],
  );
  const kept = earlier.filter(({ workload }) => results.every((result) => result.workload !== workload));
  const all = [...kept, ...results]
    .filter(({ workload }) => order.includes(workload))
    .toSorted((a, b) => order.indexOf(a.workload) - order.indexOf(b.workload));
  await writeFile(JSON_FILE, `${JSON.stringify({ results: all }, undefined, 2)}\n`);
  await writeFile(PAGE, withFigures(await readFile(PAGE, "utf8"), markdown(all)));
}

function withFigures(page: string, figures: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has no place for figures: put ${BEGIN} and ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${figures}\n${page.slice(end)}`;
}
