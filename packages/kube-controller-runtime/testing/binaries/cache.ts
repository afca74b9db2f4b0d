import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const SCRATCH_PREFIX = "partial-";

/** Written beside a binary once it is complete; a binary without it does not count. */
interface Seal {
  readonly size: number;
  readonly mtimeMs: number;
  readonly sha256: string;
}

/**
 * A folder of finished binaries. A binary appears under its name by one rename and counts only with
 * a seal that matches it, so an interrupted, truncated or tampered one reads as absent.
 */
export interface BinaryCache {
  /** The path of a complete binary, or `undefined` when it has to be made. */
  find(name: string): Promise<string | undefined>;
  /** Moves a finished file into the cache. */
  store(name: string, file: string): Promise<string>;
  /** Lends a fresh folder on the cache's file system and removes it, and those of killed runs. */
  withScratch<T>(work: (dir: string) => Promise<T>): Promise<T>;
}

/** The folder for what programs keep between runs of one user; each has a folder of its own in it. */
export function userCache(env: NodeJS.ProcessEnv): string {
  return env.XDG_CACHE_HOME || join(homedir(), ".cache");
}

/** Opens the cache in `dir`, which need not exist yet. */
export function binaryCache(dir: string): BinaryCache {
  return {
    find: async (name) => ((await sealHolds(join(dir, name))) ? join(dir, name) : undefined),
    store: (name, file) => store(join(dir, name), file),
    withScratch: (work) => withScratch(dir, work),
  };
}

async function store(target: string, file: string): Promise<string> {
  await rm(sealOf(target), { force: true });
  await chmod(file, 0o755);
  await rename(file, target);
  const { size, mtimeMs } = await stat(target);
  const seal: Seal = { size, mtimeMs, sha256: await sha256(target) };
  await writeFile(`${sealOf(target)}.new`, JSON.stringify(seal));
  await rename(`${sealOf(target)}.new`, sealOf(target));
  return target;
}

async function sealHolds(binary: string): Promise<boolean> {
  const seal = await readSeal(sealOf(binary));
  const file = await stat(binary).catch(() => undefined);
  if (seal === undefined || file === undefined) return false;
  if (file.size !== seal.size || (file.mode & 0o100) === 0) return false;
  // Hashing 300 MB costs about a second, so it is kept for copies: CI caches do not keep times.
  return file.mtimeMs === seal.mtimeMs || (await sha256(binary)) === seal.sha256;
}

async function readSeal(path: string): Promise<Seal | undefined> {
  try {
    return (JSON.parse(await readFile(path, "utf8")) as Seal | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function sealOf(binary: string): string {
  return `${binary}.seal.json`;
}

async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

async function withScratch<T>(dir: string, work: (dir: string) => Promise<T>): Promise<T> {
  await mkdir(dir, { recursive: true });
  const leftovers = (await readdir(dir)).filter((entry) => entry.startsWith(SCRATCH_PREFIX));
  await Promise.all(leftovers.map((entry) => rm(join(dir, entry), { recursive: true, force: true })));
  const scratch = await mkdtemp(join(dir, SCRATCH_PREFIX));
  return work(scratch).finally(() => rm(scratch, { recursive: true, force: true }));
}
