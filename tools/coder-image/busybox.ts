import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Architecture } from "../image/architecture.ts";
import { readElf } from "../image/elf.ts";
import { withPackages } from "../image/packages.ts";

/** Where the package has it, in Debian 12 and in later ones. */
const IN_PACKAGE = ["bin/busybox", "usr/bin/busybox"];

/** The commands that busybox is called by: what agents, their scripts and a person in a workspace use. */
export const applets = [
  ..."awk base64 basename cat chmod chown cp cut date df dirname du echo env expr false find free grep gunzip".split(
    " ",
  ),
  ..."gzip head hostname id kill less ln ls mkdir mktemp mv nc nproc nslookup ping printf ps pwd readlink rm".split(
    " ",
  ),
  ..."rmdir sed seq sh sleep sort stat stty tail tar tee test time timeout touch tr true tty uname uniq unzip".split(
    " ",
  ),
  ..."uptime vi wc wget which whoami xargs".split(" "),
];

/**
 * The machine's busybox, or the one in the package `busybox-static` of its distribution. It is linked statically, so
 * it runs in an image that has no libraries.
 */
export async function busyboxFile(architecture: Architecture, env: NodeJS.ProcessEnv): Promise<Buffer> {
  const installed = (env.PATH ?? "").split(delimiter).map((folder) => join(folder, "busybox"));
  const found = await firstStatic(installed, architecture);
  if (found !== undefined) return found;
  const packaged = (root: string) =>
    firstStatic(
      IN_PACKAGE.map((path) => join(root, path)),
      architecture,
    );
  return withPackages(["busybox-static"], env, packaged).then(
    (content) => content ?? Promise.reject(missing()),
    (cause) => Promise.reject(missing(cause)),
  );
}

async function firstStatic(paths: readonly string[], { machine }: Architecture): Promise<Buffer | undefined> {
  for (const path of paths) {
    const content = await readFile(path).catch(() => undefined);
    const elf = content && readElf(content);
    if (content && elf?.machine === machine && elf.needed.length === 0) return content;
  }
  return undefined;
}

function missing(cause?: unknown): Error {
  return new Error(
    "the Coder image needs a static busybox, which this machine does not have; install it (Debian and Ubuntu: " +
      "apt-get install busybox-static).",
    { cause },
  );
}
