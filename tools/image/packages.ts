import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * Provides the root of a file system with packages of the machine's distribution. apt downloads and verifies
 * them; nothing is installed, and no root permissions are needed. Throws if there is no apt.
 */
export async function withPackages<T>(
  packages: readonly string[],
  env: NodeJS.ProcessEnv,
  use: (sysroot: string) => Promise<T>,
): Promise<T> {
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-packages-"));
  try {
    const run = (program: string, ...args: string[]) =>
      promisify(execFile)(program, args, { cwd: scratch, env });
    await run("apt-get", "download", ...packages);
    const archives = (await readdir(scratch)).filter((file) => file.endsWith(".deb"));
    for (const archive of archives) await run("dpkg-deb", "--extract", archive, "root");
    return await use(join(scratch, "root"));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
