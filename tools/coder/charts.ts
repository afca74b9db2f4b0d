import { execFile } from "node:child_process";
import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readGoModule } from "kube-controller-runtime/testing/binaries";

const MODULE = "github.com/coder/coder/v2";
const run = promisify(execFile);

/**
 * A copy of the Helm charts of the pinned Coder, which are part of its Go module: `coder`, `provisioner` and the
 * library `libcoder`. The module is downloaded when this machine does not have it. The caller removes the copy.
 */
export async function coderCharts(): Promise<string> {
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const version = readGoModule(cwd).versionOf(MODULE);
  const { stdout } = await run("go", ["mod", "download", "-json", `${MODULE}@${version}`], { cwd });
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  const copy = await mkdtemp(join(tmpdir(), "coder-charts-"));
  await cp(join(Dir, "helm"), copy, { recursive: true });
  // Files of the module cache can't be written, and helm puts the library beside the charts.
  await run("chmod", ["-R", "u+w", copy]);
  return copy;
}
