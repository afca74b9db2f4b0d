import { execFile } from "node:child_process";
import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { coderModule } from "./module.ts";

/**
 * A copy of the Helm charts of a pinned Coder, which are part of its Go module: `coder`, `provisioner` and
 * the library `libcoder`. `pins` is as for `coderModule`. The caller removes the copy.
 */
export async function coderCharts(pins?: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "coder-charts-"));
  await cp(join(await coderModule(pins), "helm"), copy, { recursive: true });
  // helm writes the library next to the charts.
  await promisify(execFile)("chmod", ["-R", "u+w", copy]);
  return copy;
}
