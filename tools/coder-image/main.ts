/** Prints the name and the file of every Coder image, after building missing ones. */
import { coderImages } from "./image.ts";

try {
  for (const { name, file } of Object.values(await coderImages())) console.log(`${name} ${file}`);
} catch (error) {
  console.error(`coder-image: ${(error as Error).message}`);
  process.exitCode = 1;
}
