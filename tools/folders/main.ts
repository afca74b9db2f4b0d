/** Fails when folders import each other in a circle, or one reaches into another's features. */
import { fileURLToPath } from "node:url";
import { findCycle, projectImports, siblingGraph, strayImports } from "./graph.ts";

const imports = projectImports(fileURLToPath(new URL("../..", import.meta.url)));
const cycle = findCycle(siblingGraph(imports));
const faults = [
  ...(cycle ? [`folders import each other in a circle: ${cycle.join(" → ")}`] : []),
  ...strayImports(imports).map(([file, target]) => `${file} reaches into the feature of another: ${target}`),
];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
