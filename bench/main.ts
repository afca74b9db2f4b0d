/**
 * Measures the operator on a local cluster: `node bench/main.ts [workload...] [--sizes N,N] [--objects N]
 * [--secrets N,N] [--runs N] [--publish]`. Without names all workloads run. Nothing here is a test: a busy
 * machine gives worse figures, not failures.
 */
import { parseArgs } from "node:util";
import { thisMachine } from "./machine.ts";
import { publish } from "./publish.ts";
import { table, type WorkloadResult } from "./report.ts";
import { attempted, type Report, type Scale, type Workload } from "./workload.ts";
import { manyObjects } from "./workloads/cache.ts";
import { failover } from "./workloads/failover.ts";
import { fleets } from "./workloads/fleet.ts";
import { hotNeighbour } from "./workloads/hot.ts";
import { idleRuns } from "./workloads/idle-runs.ts";
import { plugin } from "./workloads/plugin.ts";
import { processLife } from "./workloads/process.ts";
import { unrelatedSecrets } from "./workloads/secrets.ts";
import { steadyFleets } from "./workloads/steady.ts";
import { takeovers } from "./workloads/takeover.ts";

/** In the order of the report. */
const WORKLOADS: readonly Workload[] = [
  ...[fleets, steadyFleets, idleRuns, hotNeighbour],
  ...[processLife, failover, takeovers, unrelatedSecrets, manyObjects, plugin],
];

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
  // The largest takes as long as all others together: only the report has it without being asked.
  sizes: numbers(values.sizes ?? (values.publish ? "50,200,1000" : "50,200")),
  objects: Number(values.objects),
  secrets: numbers(values.secrets),
  runs: Number(values.runs),
};
const unknown = positionals.find((name) => !WORKLOADS.some((workload) => workload.name === name));
if (unknown) {
  console.error(`"${unknown}" is no workload: ${WORKLOADS.map(({ name }) => name).join(", ")}`);
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
// A goal that is missed is no failure.
const failed = results.some(({ figures }) => figures.some(({ value }) => Number.isNaN(value)));
process.exit(failed ? 1 : 0);
