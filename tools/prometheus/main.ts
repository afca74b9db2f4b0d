/** Prints where Prometheus and promtool are, after making them when they are nowhere yet. */
import { prometheusBinaries } from "./binaries.ts";

try {
  for (const file of Object.values(await prometheusBinaries())) console.log(file);
} catch (error) {
  console.error(`prometheus: ${(error as Error).message}`);
  process.exitCode = 1;
}
