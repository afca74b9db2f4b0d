import { join } from "node:path";
import {
  binaryCache,
  buildBinary,
  cachedBinaries,
  currentPlatform,
  type Found as FoundOf,
  type GoBinary,
  GoMissingError,
  type Log,
  type Place,
  preparedBinaries,
  reportedVersion,
  userCache,
} from "kube-controller-runtime/testing/binaries";
import { type BinaryName, binaryNames, type CoderBinaries, type Pins, readPins } from "./pins.ts";

/** The environment for finding the binaries. */
export interface CoderBinariesContext {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

type Found = FoundOf<BinaryName>;

/**
 * Finds Coder and Terraform, or the requested ones of them, in the pinned versions: in the per-user cache, or
 * by a build from Go modules. May be called concurrently by several processes.
 */
export async function coderBinaries<Name extends BinaryName = BinaryName>(
  context: CoderBinariesContext = defaultContext(),
  wanted: readonly Name[] = binaryNames as readonly BinaryName[] as readonly Name[],
): Promise<Pick<CoderBinaries, Name>> {
  const pins = readPins(currentPlatform());
  const found = await preparedBinaries(wanted, {
    ...context,
    folder: pins.folder,
    what: "Coder and Terraform",
    make: (missing, place) => make(missing, place, { ...context, pins }),
  });
  return found as Pick<CoderBinaries, Name>;
}

/** The binaries if all of them are in the cache, for callers that should not wait for a build. */
export async function cachedCoderBinaries(env = process.env): Promise<CoderBinaries | undefined> {
  const cache = binaryCache(join(userCache(env), readPins(currentPlatform()).folder));
  const found = await cachedBinaries(binaryNames, cache);
  return binaryNames.every((name) => found[name] !== undefined) ? (found as CoderBinaries) : undefined;
}

/** The machine's environment; progress goes to standard error. */
function defaultContext(): CoderBinariesContext {
  return { env: process.env, log: (line) => console.error(`coder: ${line}`) };
}

async function make(
  missing: readonly BinaryName[],
  { scratch, cache }: Place,
  { pins, ...context }: CoderBinariesContext & { pins: Pins },
): Promise<Found> {
  const made: Found = {};
  for (const name of missing) {
    const pinned = pins.binaries[name];
    const built = await buildBinary(pinned, scratch, context).catch((cause) => {
      throw cause instanceof GoMissingError ? goNeeded(missing, cause) : cause;
    });
    await checkVersion(built, pinned);
    made[name] = await cache.store(name, built);
  }
  return made;
}

async function checkVersion(file: string, { version, module }: GoBinary): Promise<void> {
  const found = await reportedVersion(file, ["version"]);
  if (found !== version) throw new Error(`${file} is version ${found}, but ${module.file} pins ${version}`);
}

function goNeeded(missing: readonly BinaryName[], cause: GoMissingError): Error {
  return new Error(
    `${missing.join(", ")} are not available: they are built with Go, which is not installed; install Go.`,
    { cause },
  );
}
