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

/** One of the npm packages that Node comes in. */
export interface NodePackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** What it is for, as in `linux/arm64`. */
  readonly platform: string;
  /** Files that we take out of the package, by how the cache calls them. */
  readonly files: Readonly<Record<string, string>>;
}

/** Gets the pinned Node of the image from the per-user cache, or from npm when it is not there yet. */
export async function nodeFiles(architecture: Architecture, log: Log): Promise<NodeFiles> {
  const files = await nodePackage(
    {
      name: architecture.nodePackage,
      version: nodeVersion,
      integrity: architecture.integrity,
      platform: `linux/${architecture.name}`,
      files: { node: "package/bin/node", LICENSE: "package/LICENSE" },
    },
    log,
  );
  const [executable, license] = await Promise.all([
    readFile(files("node")),
    readFile(files("LICENSE"), "utf8"),
  ]);
  return { executable, license };
}

/** Where the files of a package are, by how the cache calls them. */
export async function nodePackage(wanted: NodePackage, log: Log): Promise<(name: string) => string> {
  const pin = createHash("sha256").update(wanted.integrity).digest("hex").slice(0, 12);
  const files = await preparedBinaries(Object.keys(wanted.files), {
    env: process.env,
    log,
    folder: join("coder-k8s", "node", `${wanted.version}-${wanted.platform.replace("/", "-")}-${pin}`),
    what: `Node for ${wanted.platform}`,
    make: (missing, place) => fetchFiles(wanted, missing, place),
  });
  return (name) => {
    const path = files[name];
    if (!path) throw new Error("Node was fetched but is nowhere");
    return path;
  };
}

async function fetchFiles(
  wanted: NodePackage,
  missing: readonly string[],
  { scratch, cache }: Place,
): Promise<Record<string, string>> {
  const entries = readTar(gunzipSync(await fetchPackage(wanted, scratch)));
  const stored = missing.map(async (name) => {
    const entry = entries.find(({ path }) => path === wanted.files[name]);
    if (entry?.type !== "file") throw new Error(`${wanted.name} has no ${wanted.files[name]}`);
    await writeFile(join(scratch, name), entry.content);
    return [name, await cache.store(name, join(scratch, name))] as const;
  });
  return Object.fromEntries(await Promise.all(stored));
}

/** npm checks what it got against what the registry says, we against what the project pins. */
async function fetchPackage({ name, version, integrity }: NodePackage, scratch: string): Promise<Buffer> {
  const args = ["pack", `${name}@${version}`, "--prefer-offline", "--loglevel=error"];
  await promisify(execFile)("npm", args, { cwd: scratch });
  const archive = await readFile(join(scratch, `${name}-${version}.tgz`));
  const got = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  if (got !== integrity) throw new Error(`${name}@${version} is not what the project pins: ${got}`);
  return archive;
}
