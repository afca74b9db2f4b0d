/**
 * Measures the operator on a local cluster: `node bench/main.ts [workload...] [--objects N] [--secrets N]
 * [--runs N] [--publish]`. Without names all workloads run. Nothing here is a test: a busy machine gives
 * worse figures, not failures.
 */
import { parseArgs } from "node:util";
import { thisMachine } from "./machine.ts";
import { publish, type Result, resultOf, table } from "./report.ts";
import type { Scale, Workload } from "./workload.ts";
import { manyObjects } from "./workloads/cache.ts";
import { fleets } from "./workloads/fleet.ts";
import { processLife } from "./workloads/process.ts";
import { unrelatedSecrets } from "./workloads/secrets.ts";
import { steadyRuns } from "./workloads/steady.ts";

const WORKLOADS: readonly Workload[] = [processLife, steadyRuns, fleets, manyObjects, unrelatedSecrets];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    objects: { type: "string", default: "10000" },
    secrets: { type: "string", default: "20000" },
    runs: { type: "string", default: "5" },
    publish: { type: "boolean", default: false },
  },
});
const scale: Scale = {
  objects: Number(values.objects),
  secrets: Number(values.secrets),
  runs: Number(values.runs),
};
const unknown = positionals.find((name) => !WORKLOADS.some((workload) => workload.name === name));
if (unknown) {
  console.error(`"${unknown}" is no workload: ${WORKLOADS.map(({ name }) => name).join(", ")}`);
  process.exit(1);
}

const results: Result[] = [];
for (const workload of WORKLOADS) {
  if (positionals.length > 0 && !positionals.includes(workload.name)) continue;
  const figures = await workload.run(scale, (progress) => console.error(`${workload.name}: ${progress}`));
  const result = resultOf(workload, figures);
  console.log(`${table(result)}\n`);
  results.push(result);
}
if (values.publish) await publish(thisMachine(), results);
process.exit();
