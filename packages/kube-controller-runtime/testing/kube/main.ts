import { kubeBinaries } from "./binaries.ts";

try {
  for (const file of Object.values(await kubeBinaries())) console.log(file);
} catch (error) {
  console.error(`kube: ${(error as Error).message}`);
  process.exitCode = 1;
}
