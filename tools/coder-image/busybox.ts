import { readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { type Log, preparedBinaries } from "kube-controller-runtime/testing/binaries";
import type { Architecture } from "../image/architecture.ts";
import { readElf } from "../image/elf.ts";
import { withPackages } from "../image/packages.ts";

/** The path in the package, for Debian 12 and for later versions. */
const IN_PACKAGE = ["bin/busybox", "usr/bin/busybox"];

/** The commands of busybox that agents, their scripts and users of a workspace need. */
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

/** The environment for finding busybox. */
interface BusyboxContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/**
 * The machine's busybox, or the one of the package `busybox-static` of its distribution, which is stored in
 * the per-user cache. It is statically linked, so it runs in an image without libraries.
 */
export async function busyboxFile(architecture: Architecture, { env, log }: BusyboxContext): Promise<Buffer> {
  const installed = await firstStatic((env.PATH ?? "").split(delimiter), ["busybox"], architecture);
  if (installed !== undefined) return installed;
  const { busybox = "" } = await preparedBinaries(["busybox"], {
    env,
    log,
    folder: join("coder-k8s", "busybox", architecture.name),
    what: "busybox",
    make: async (_, { scratch, cache }) => {
      const file = join(scratch, "busybox");
      await writeFile(file, await packagedBusybox(architecture, env));
      return { busybox: await cache.store("busybox", file) };
    },
  });
  return readFile(busybox);
}

async function packagedBusybox(architecture: Architecture, env: NodeJS.ProcessEnv): Promise<Buffer> {
  const found = await withPackages(["busybox-static"], env, (root) =>
    firstStatic([root], IN_PACKAGE, architecture),
  ).catch((cause) => Promise.reject(missing(cause)));
  return found ?? Promise.reject(missing());
}

async function firstStatic(
  folders: readonly string[],
  names: readonly string[],
  { machine }: Architecture,
): Promise<Buffer | undefined> {
  for (const file of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const content = await readFile(file).catch(() => undefined);
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
