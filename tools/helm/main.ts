/** Prints where helm is, after making it when it is nowhere yet. */
import { helmBinary } from "./binary.ts";

try {
  console.log(await helmBinary());
} catch (error) {
  console.error(`helm: ${(error as Error).message}`);
  process.exitCode = 1;
}
