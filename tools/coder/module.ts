import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readGoModule } from "kube-controller-runtime/testing/binaries";

const MODULE = "github.com/coder/coder/v2";

/**
 * Where the sources of a pinned Coder are: in Go's module cache, into which they are downloaded when this machine does
 * not have them. Files there can't be written. `pins` names the pair of files that pins the version.
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
