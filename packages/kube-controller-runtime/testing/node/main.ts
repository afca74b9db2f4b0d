/**
 * Prints the paths of a node's binaries, after creating missing ones; with `--check` only prints why this
 * machine can't run a node.
 */
import { parseArgs } from "node:util";
import { nodeBinaries } from "./binaries.ts";
import { obstacle } from "./prerequisites.ts";

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
try {
  const reason = values.check ? obstacle() : undefined;
  if (reason) throw new Error(reason);
  if (!values.check) for (const file of Object.values(await nodeBinaries())) console.log(file);
} catch (error) {
  console.error(`node: ${(error as Error).message}`);
  process.exitCode = 1;
}
