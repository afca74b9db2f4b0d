import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { thisMachine } from "./machine.ts";
import { markdown, table, type WorkloadResult } from "./report.ts";
import { attempted, type Report, type Scale, type Workload } from "./workload.ts";
import { manyObjects } from "./workloads/cache.ts";
import { failover } from "./workloads/failover.ts";
import { fleets } from "./workloads/fleet.ts";
import { groups } from "./workloads/groups.ts";
import { hotNeighbor } from "./workloads/hot.ts";
import { idleRuns } from "./workloads/idle-runs.ts";
import { plugin } from "./workloads/plugin.ts";
import { processLife } from "./workloads/process.ts";
import { unrelatedSecrets } from "./workloads/secrets.ts";
import { steadyFleets } from "./workloads/steady.ts";
import { takeovers } from "./workloads/takeover.ts";

/**
 * Measures the operator on a local cluster: `node bench/main.ts [workload...] [--sizes N,N] [--objects N]
 * [--secrets N,N] [--runs N] [--publish]`. Runs all workloads by default. This is not a test: a busy machine
 * produces worse figures, not failures.
 */

/** In the order of the report. */
const WORKLOADS: readonly Workload[] = [
  ...[fleets, steadyFleets, idleRuns, hotNeighbor, groups],
  ...[processLife, failover, takeovers, unrelatedSecrets, manyObjects, plugin],
];

const JSON_FILE = fileURLToPath(new URL("results.json", import.meta.url));
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const [BEGIN, END] = ["<!-- begin: make bench -->", "<!-- end: make bench -->"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { type: "string" },
    objects: { type: "string", default: "10000" },
    secrets: { type: "string", default: "5000,20000" },
    runs: { type: "string", default: "5" },
    publish: { type: "boolean", default: false },
  },
});

const numbers = (list: string) =>
  list
    .split(",")
    .map(Number)
    .toSorted((a, b) => a - b);

const scale: Scale = {
  // The largest takes as long as all others together, so it is only included by default for the report.
  sizes: numbers(values.sizes ?? (values.publish ? "50,200,1000" : "50,200")),
  objects: Number(values.objects),
  secrets: numbers(values.secrets),
  runs: Number(values.runs),
};
const unknown = positionals.find((name) => !WORKLOADS.some((workload) => workload.name === name));
if (unknown) {
  console.error(`unknown workload "${unknown}"; use one of ${WORKLOADS.map(({ name }) => name).join(", ")}`);
  process.exit(1);
}

const machine = thisMachine();
const results: WorkloadResult[] = [];
for (const workload of WORKLOADS) {
  const { name, title } = workload;
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const report: Report = (progress) => console.error(`${name}: ${progress}`);
  const figures = await attempted(title, report, () => workload.run(scale, report));
  const result = { workload: name, title, measuredAt: new Date().toISOString(), machine, figures };
  console.log(`${table(result)}\n`);
  results.push(result);
}
if (values.publish) {
  const order = WORKLOADS.map(({ name }) => name);
  await publish(results, order);
}
// A missed goal is not a failure.
const failed = results.some(({ figures }) => figures.some(({ value }) => Number.isNaN(value)));
process.exit(failed ? 1 : 0);

interface Measurement {
  readonly results: readonly WorkloadResult[];
}

/**
 * Writes the figures to `bench/results.json` and, between the markers, to `docs/performance.md`. Figures of
 * other workloads are kept.
 */
async function publish(results: readonly WorkloadResult[], order: readonly string[]): Promise<void> {
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
  if (begin < 0 || end < begin)
    throw new Error(`${PAGE} has no markers for the figures: add ${BEGIN} and ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${figures}\n${page.slice(end)}`;
}
