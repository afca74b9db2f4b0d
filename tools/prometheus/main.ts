/** Prints the paths of Prometheus and promtool, after building them if necessary. */
import { prometheusBinaries } from "./binaries.ts";

try {
  for (const file of Object.values(await prometheusBinaries())) console.log(file);
} catch (error) {
  console.error(`prometheus: ${(error as Error).message}`);
  process.exitCode = 1;
}
