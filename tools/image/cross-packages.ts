import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Architecture } from "./architecture.ts";

/** What Node is linked with, in the names of Debian and Ubuntu. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6"];

/**
 * Lends the root of a file system with the libraries of another architecture: the packages for cross compilers of the
 * machine's distribution. apt fetches and checks them; nothing is installed, and nobody needs to be root. Fails where
 * there is no apt.
 */
export async function withCrossPackages<T>(
  { name }: Architecture,
  env: NodeJS.ProcessEnv,
  use: (sysroot: string) => Promise<T>,
): Promise<T> {
  const scratch = await mkdtemp(join(tmpdir(), "coder-k8s-libraries-"));
  try {
    const run = (program: string, ...args: string[]) =>
      promisify(execFile)(program, args, { cwd: scratch, env });
    await run("apt-get", "download", ...PACKAGES.map((each) => `${each}-${name}-cross`));
    const archives = (await readdir(scratch)).filter((file) => file.endsWith(".deb"));
    for (const archive of archives) await run("dpkg-deb", "--extract", archive, "root");
    return await use(join(scratch, "root"));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
