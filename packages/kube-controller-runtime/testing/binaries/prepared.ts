import { join } from "node:path";
import { type BinaryCache, binaryCache, userCache } from "./cache.ts";
import { withFileLock } from "./lock.ts";
import type { Log } from "./progress.ts";

/** Paths of the available binaries. */
export type Found<Name extends string> = Partial<Record<Name, string>>;

/** Where finished binaries are stored, and how missing ones are created. */
export interface Preparation<Name extends string> {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /**
   * A folder in the user's cache that starts with the program's name, a different one for every set of pins.
   */
  readonly folder: string;
  /** As in "another process is preparing …". */
  readonly what: string;
  /** Creates missing binaries in `scratch`, a temporary folder, and stores them in the cache. */
  readonly make: (missing: readonly Name[], place: Place) => Promise<Found<Name>>;
}

/** The place where binaries are created. */
export interface Place {
  readonly scratch: string;
  readonly cache: BinaryCache;
}

/**
 * Finds binaries in the per-user cache and creates missing ones. If several processes call this concurrently,
 * one creates the binaries and the others wait.
 */
export async function preparedBinaries<Name extends string>(
  wanted: readonly Name[],
  { env, log, folder, what, make }: Preparation<Name>,
): Promise<Found<Name>> {
  const dir = join(userCache(env), folder);
  const cache = binaryCache(dir);
  const cached = await cachedBinaries(wanted, cache);
  if (lacking(wanted, cached).length === 0) return cached;
  const onWait = () => log(`another process is preparing ${what}: waiting for it`);
  return withFileLock(`${dir}.lock`, { onWait }, async () => {
    const present = await cachedBinaries(wanted, cache);
    const missing = lacking(wanted, present);
    if (missing.length === 0) return present;
    const made = await cache.withScratch((scratch) => make(missing, { scratch, cache }));
    return { ...present, ...made };
  });
}

/** Finds binaries in a cache without creating any. */
export async function cachedBinaries<Name extends string>(
  wanted: readonly Name[],
  cache: BinaryCache,
): Promise<Found<Name>> {
  const paths = await Promise.all(wanted.map(async (name) => [name, await cache.find(name)] as const));
  return Object.fromEntries(paths.filter(([, path]) => path !== undefined)) as Found<Name>;
}

function lacking<Name extends string>(wanted: readonly Name[], found: Found<Name>): Name[] {
  return wanted.filter((name) => found[name] === undefined);
}
