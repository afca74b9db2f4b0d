/** Prints name and file of every Coder image, after packing what is not there yet. */
import { coderImages } from "./image.ts";

try {
  for (const { name, file } of Object.values(await coderImages())) console.log(`${name} ${file}`);
} catch (error) {
  console.error(`coder-image: ${(error as Error).message}`);
  process.exitCode = 1;
}
