import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import type { Files } from "./outputs.ts";

/** Written by hand but for the line with the image's name. */
export const valuesFile = "charts/coder-k8s/values.yaml";

/**
 * The operator's image without its tag. `config.image` in package.json is the only place that names it, with a
 * name that no registry serves; a release sets `IMAGE` to the name that it pushes to.
 */
export function imageName({ IMAGE }: NodeJS.ProcessEnv = process.env): string {
  return IMAGE || manifest.config.image;
}

/** Adds the chart's values with `image` in them. */
export function withImageName(root: string, files: Files, image = imageName()): Files {
  const values = readFileSync(join(root, valuesFile), "utf8");
  const line = /(?<=^image:\n(?: {2}#.*\n)*)( {2}repository: ).*$/m;
  if (!line.test(values)) throw new Error(`${valuesFile} has no image.repository at the beginning of image`);
  return new Map([...files, [valuesFile, values.replace(line, (_, start: string) => `${start}${image}`)]]);
}
