import { execFile } from "node:child_process";
import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { coderModule } from "./module.ts";
import { OLDER } from "./pins.ts";

/**
 * A copy of the Helm charts of the older of the pinned Coders, which are part of its Go module: `coder`, `provisioner`
 * and the library `libcoder`. Releases that are moved were installed with charts like these. The caller removes the
 * copy.
 */
export async function coderCharts(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "coder-charts-"));
  await cp(join(await coderModule(OLDER), "helm"), copy, { recursive: true });
  // helm puts the library beside the charts.
  await promisify(execFile)("chmod", ["-R", "u+w", copy]);
  return copy;
}
