/** Fails if folders form an import cycle, or if one imports another's features. */
import { fileURLToPath } from "node:url";
import { findCycle, projectImports, siblingGraph, strayImports } from "./graph.ts";

const imports = projectImports(fileURLToPath(new URL("../..", import.meta.url)));
const cycle = findCycle(siblingGraph(imports));
const faults = [
  ...(cycle ? [`folders form an import cycle: ${cycle.join(" → ")}`] : []),
  ...strayImports(imports).map(([file, target]) => `${file} reaches into the feature of another: ${target}`),
];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
