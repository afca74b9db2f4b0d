/** Prints the path of helm, after building it if necessary. */
import { helmBinary } from "./binary.ts";

try {
  console.log(await helmBinary());
} catch (error) {
  console.error(`helm: ${(error as Error).message}`);
  process.exitCode = 1;
}
