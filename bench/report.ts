import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Machine } from "./machine.ts";
import type { Figure, Workload } from "./workload.ts";

export interface Result {
  readonly workload: string;
  readonly title: string;
  readonly figures: readonly Figure[];
}

const JSON_FILE = fileURLToPath(new URL("results.json", import.meta.url));
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const [BEGIN, END] = ["<!-- begin: make bench -->", "<!-- end: make bench -->"];

/** Puts the figures into `bench/results.json` and, between its markers, into `docs/performance.md`. */
export async function publish(machine: Machine, results: readonly Result[]): Promise<void> {
  const earlier: Result[] = await readFile(JSON_FILE, "utf8").then(
    (text) => (JSON.parse(text) as { results: Result[] }).results,
    () => [],
  );
  // A single workload that is measured anew leaves the figures of the others.
  const kept = earlier.filter(({ workload }) => results.every((result) => result.workload !== workload));
  const all = [...kept, ...results].toSorted((a, b) => a.workload.localeCompare(b.workload));
  await writeFile(JSON_FILE, `${JSON.stringify({ machine, results: all }, undefined, 2)}\n`);
  const page = await readFile(PAGE, "utf8");
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (before < 0 || after < before)
    throw new Error(`${PAGE} has no place for figures: put ${BEGIN} and ${END}`);
  const head = page.slice(0, before + BEGIN.length);
  await writeFile(PAGE, `${head}\n\n${markdown(machine, all)}\n${page.slice(after)}`);
}

/** One result for the terminal. */
export function table({ title, figures }: Result): string {
  const rows = figures.map((figure) => [figure.what, amount(figure), verdict(figure)]);
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map(
    ([what = "", value = "", limit = ""]) =>
      `  ${what.padEnd(width(0))}  ${value.padStart(width(1))}  ${limit}`,
  );
  return [title, ...lines].join("\n");
}

export function resultOf(workload: Workload, figures: readonly Figure[]): Result {
  return { workload: workload.name, title: workload.title, figures };
}

function markdown(machine: Machine, results: readonly Result[]): string {
  const { processor, cores, memoryGB, system, node, kubernetes } = machine;
  const where = `${cores} × ${processor}, ${memoryGB} GB, ${system}, Node ${node}, Kubernetes ${kubernetes}`;
  const rows = results.flatMap(({ title, figures }) =>
    figures.map((figure) => `| ${title} | ${figure.what} | ${amount(figure)} | ${bound(figure)} |`),
  );
  return [
    `Measured on ${where}.`,
    "",
    "| Workload | Measured | Figure | Must be |",
    "|---|---|---:|---|",
    ...rows,
    "",
  ].join("\n");
}

function amount({ value, unit }: Figure): string {
  const digits = unit === "s" || unit === "ms" ? 2 : unit === "MB" ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`.trim();
}

function bound({ limit, unit }: Figure): string {
  return limit === undefined ? "" : `≤ ${limit} ${unit}`.trim();
}

function verdict(figure: Figure): string {
  if (figure.limit === undefined) return "";
  return `${figure.value <= figure.limit ? "ok" : "TOO MUCH"} (${bound(figure)})`;
}
