/** Prints the paths of Coder and Terraform, after building missing ones. */
import { coderBinaries } from "./binaries.ts";

try {
  for (const file of Object.values(await coderBinaries())) console.log(file);
} catch (error) {
  console.error(`coder: ${(error as Error).message}`);
  process.exitCode = 1;
}
