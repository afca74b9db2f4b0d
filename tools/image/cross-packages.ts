import type { Architecture } from "./architecture.ts";
import { withPackages } from "./packages.ts";

/** What Node is linked with, in the names of Debian and Ubuntu. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6"];

/**
 * Lends the root of a file system with the libraries of another architecture: the packages for cross compilers of the
 * machine's distribution. Fails where there is no apt.
 */
export async function withCrossPackages<T>(
  { name }: Architecture,
  env: NodeJS.ProcessEnv,
  use: (sysroot: string) => Promise<T>,
): Promise<T> {
  return withPackages(
    PACKAGES.map((each) => `${each}-${name}-cross`),
    env,
    use,
  );
}
