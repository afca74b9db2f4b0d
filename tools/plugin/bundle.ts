import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Bundle, bundle } from "../build/bundle.ts";

const ENTRY = "src/kubectl-coder.ts";

/** Bundles the plugin as the operator is bundled, as a program: with the line that names Node, and executable. */
export async function bundlePlugin(outfile: string, version?: string): Promise<Bundle> {
  const made = await bundle(outfile, ENTRY, version);
  await writeFile(outfile, `#!/usr/bin/env node\n${await readFile(outfile, "utf8")}`);
  await chmod(outfile, 0o755);
  return made;
}

/** What goes into an executable, and which sources are in it. */
export interface ExecutableBundle {
  readonly program: { readonly main: string; readonly assets: Readonly<Record<string, string>> };
  readonly inputs: readonly string[];
}

/** Bundles the plugin for an executable, whose Node runs it without a file of its own. */
export async function bundleForExecutable(folder: string, version?: string): Promise<ExecutableBundle> {
  const main = join(folder, "kubectl-coder.mjs");
  const { inputs } = await bundle(main, ENTRY, version);
  return { program: { main, assets: {} }, inputs };
}
