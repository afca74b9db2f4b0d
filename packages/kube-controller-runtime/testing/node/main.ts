/** Prints where the binaries of a node are, after making them when they are nowhere yet. */
import { nodeBinaries } from "./binaries.ts";

try {
  for (const file of Object.values(await nodeBinaries())) console.log(file);
} catch (error) {
  console.error(`node: ${(error as Error).message}`);
  process.exitCode = 1;
}
