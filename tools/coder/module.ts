import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readGoModule } from "kube-controller-runtime/testing/binaries";

const MODULE = "github.com/coder/coder/v2";

/**
 * The sources of a pinned Coder, in Go's module cache, after downloading them if necessary. The files are
 * read-only. `pins` names the pair of files that pins the version.
 */
export async function coderModule(pins = "go"): Promise<string> {
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const { versionOf, modFile } = readGoModule(cwd, pins);
  const args = ["mod", "download", "-json", `${MODULE}@${versionOf(MODULE)}`];
  const env = { ...process.env, GOFLAGS: `-modfile=${modFile}` };
  const { stdout } = await promisify(execFile)("go", args, { cwd, env });
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  return Dir;
}
