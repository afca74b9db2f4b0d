import { chmod, readFile, writeFile } from "node:fs/promises";
import { type Bundle, bundle } from "../build/bundle.ts";

const ENTRY = "src/kubectl-coder.ts";

/** Bundles the plugin as the operator is bundled, as a program: with the line that names Node, and executable. */
export async function bundlePlugin(outfile: string, version?: string): Promise<Bundle> {
  const made = await bundle(outfile, ENTRY, version);
  await writeFile(outfile, `#!/usr/bin/env node\n${await readFile(outfile, "utf8")}`);
  await chmod(outfile, 0o755);
  return made;
}
