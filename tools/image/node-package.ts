import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { type Log, type Place, preparedBinaries } from "kube-controller-runtime/testing/binaries";
import { type Architecture, nodeVersion } from "./architecture.ts";
import { readTar } from "./tar.ts";

/** Node for one architecture. */
export interface NodeFiles {
  readonly executable: Buffer;
  /** Of Node and of everything that is linked into it. */
  readonly license: string;
}

/** The files that we take out of the package, and how the cache calls them. */
const FILES = { node: "package/bin/node", LICENSE: "package/LICENSE" } as const;
type FileName = keyof typeof FILES;

/** Gets the pinned Node from the per-user cache, or from npm when it is not there yet. */
export async function nodeFiles(architecture: Architecture, log: Log): Promise<NodeFiles> {
  const pin = createHash("sha256").update(architecture.integrity).digest("hex").slice(0, 12);
  const files = await preparedBinaries<FileName>(["node", "LICENSE"], {
    env: process.env,
    log,
    folder: join("node", `${nodeVersion}-linux-${architecture.name}-${pin}`),
    what: `Node for linux/${architecture.name}`,
    make: (missing, place) => fetchFiles(architecture, missing, place),
  });
  if (!files.node || !files.LICENSE) throw new Error("Node was fetched but is nowhere");
  const [executable, license] = await Promise.all([readFile(files.node), readFile(files.LICENSE, "utf8")]);
  return { executable, license };
}

async function fetchFiles(
  architecture: Architecture,
  missing: readonly FileName[],
  { scratch, cache }: Place,
): Promise<Record<string, string>> {
  const entries = readTar(gunzipSync(await fetchPackage(architecture, scratch)));
  const stored = missing.map(async (name) => {
    const entry = entries.find(({ path }) => path === FILES[name]);
    if (entry?.type !== "file") throw new Error(`${architecture.nodePackage} has no ${FILES[name]}`);
    await writeFile(join(scratch, name), entry.content);
    return [name, await cache.store(name, join(scratch, name))] as const;
  });
  return Object.fromEntries(await Promise.all(stored));
}

/** npm checks what it got against what the registry says, we against what the project pins. */
async function fetchPackage({ nodePackage, integrity }: Architecture, scratch: string): Promise<Buffer> {
  const args = ["pack", `${nodePackage}@${nodeVersion}`, "--prefer-offline", "--loglevel=error"];
  await promisify(execFile)("npm", args, { cwd: scratch });
  const archive = await readFile(join(scratch, `${nodePackage}-${nodeVersion}.tgz`));
  const got = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  if (got !== integrity) {
    throw new Error(`${nodePackage}@${nodeVersion} is not what tools/image/architecture.ts pins: ${got}`);
  }
  return archive;
}
