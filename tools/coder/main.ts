/** Prints where Coder and Terraform are, after building what is not there yet. */
import { coderBinaries } from "./binaries.ts";

try {
  for (const file of Object.values(await coderBinaries())) console.log(file);
} catch (error) {
  console.error(`coder: ${(error as Error).message}`);
  process.exitCode = 1;
}
