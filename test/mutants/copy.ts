import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Mutant } from "./mutant.ts";

/** A copy of the working tree as it is now, uncommitted changes included, in which code may be broken. */
export class ScratchCopy implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async of(root: string): Promise<ScratchCopy> {
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-mutants-"));
    const copy = new ScratchCopy(dir);
    const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    const { stdout } = await promisify(execFile)("git", listing, { cwd: root, maxBuffer: 1 << 26 });
    for (const path of stdout.split("\0").filter(Boolean)) {
      await mkdir(dirname(join(dir, path)), { recursive: true });
      // What was deleted and not committed is still listed.
      await cp(join(root, path), join(dir, path)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    }
    await linkPackages(join(root, "node_modules"), join(dir, "node_modules"));
    return copy;
  }

  /** Breaks the guard for as long as the work goes on. */
  async broken<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const file = join(this.dir, mutant.file);
    const text = await readFile(file, "utf8");
    await writeFile(file, mutate(text, mutant));
    try {
      return await work();
    } finally {
      await writeFile(file, text);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Links what is installed. The packages of this repository are links already, and lead to the copy's own. */
async function linkPackages(installed: string, into: string): Promise<void> {
  await mkdir(into);
  for (const entry of await readdir(installed, { withFileTypes: true })) {
    const [from, to] = [join(installed, entry.name), join(into, entry.name)];
    await symlink(entry.isSymbolicLink() ? await readlink(from) : from, to);
  }
}

/** The text with the guard broken; fails when the list no longer fits the code. */
export function mutate(text: string, { file, from, to }: Mutant): string {
  const [before, after, ...others] = text.split(from);
  if (after === undefined) throw new Error(`${file} has no longer: ${from}`);
  if (others.length > 0) throw new Error(`${file} has more than once: ${from}`);
  return `${before}${to}${after}`;
}
