import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const SCRATCH_PREFIX = "partial-";

/** Written next to a binary once it is complete; a binary without it is ignored. */
interface Seal {
  readonly size: number;
  readonly mtimeMs: number;
  readonly sha256: string;
}

/**
 * A folder of finished binaries. A binary is added by one rename and is only valid with a matching seal, so
 * an interrupted, truncated or modified one counts as missing.
 */
export interface BinaryCache {
  /** The path of a complete binary, or `undefined` if it is missing. */
  find(name: string): Promise<string | undefined>;
  /** Moves a finished file into the cache. */
  store(name: string, file: string): Promise<string>;
  /**
   * Provides a new folder on the cache's file system and removes it afterwards, and those of killed
   * processes.
   */
  withScratch<T>(work: (dir: string) => Promise<T>): Promise<T>;
}

/** The folder for files that programs keep between runs of one user, with a subfolder for each program. */
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
  // Hashing 300 MB takes about a second, so compare times first; CI caches do not preserve them.
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
