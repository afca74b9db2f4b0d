import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../../../..", import.meta.url));
const example = fileURLToPath(new URL("../../examples/team-operator", import.meta.url));

/** A third-party project, outside the repository, that has installed the packed runtime. */
export class ThirdParty implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Copies the example operator into an empty folder and installs the tarball and the given packages, like
   * npm; without npm, because it needs a registry.
   */
  static async install(tarball: string, packages: readonly string[]): Promise<ThirdParty> {
    const folder = await mkdtemp(join(tmpdir(), "team-operator-"));
    await cp(example, folder, { recursive: true });
    const runtime = join(folder, "node_modules/kube-controller-runtime");
    await mkdir(runtime, { recursive: true });
    await run("tar", ["-xzf", tarball, "-C", runtime, "--strip-components=1"]);
    for (const name of packages) {
      const target = join(folder, "node_modules", name);
      await mkdir(dirname(target), { recursive: true });
      await symlink(join(repository, "node_modules", name), target);
    }
    return new ThirdParty(folder);
  }

  /** The errors of the compiler, one line each. */
  async compile(...options: readonly string[]): Promise<string[]> {
    const tsc = join(repository, "node_modules/typescript/bin/tsc");
    const work = run(process.execPath, [tsc, "--noEmit", "--pretty", "false", ...options], {
      cwd: this.folder,
    });
    const output = await work.then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    );
    return output.split("\n").filter((line) => line.includes("error TS"));
  }

  /** The names that the entries of the package export at run time. */
  async exportsOf(...entries: readonly string[]): Promise<string[]> {
    const script = `
      const modules = await Promise.all(${JSON.stringify(entries)}.map((entry) => import(entry)));
      console.log(JSON.stringify(modules.flatMap((module) => Object.keys(module))));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
      cwd: this.folder,
    });
    return JSON.parse(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
