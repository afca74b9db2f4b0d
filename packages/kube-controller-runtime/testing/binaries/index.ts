/**
 * Programs for tests that npm does not provide: from a per-user cache, or created once by a download or a
 * build from pinned Go modules, even if many processes ask concurrently.
 */
export { type BinaryCache, binaryCache, userCache } from "./cache.ts";
export { buildBinary, type GoBinary, GoMissingError } from "./go-build.ts";
export { type GoModule, readGoModule } from "./go-module.ts";
export { withFileLock } from "./lock.ts";
export { currentPlatform, type Platform } from "./platform.ts";
export { cachedBinaries, type Found, type Place, type Preparation, preparedBinaries } from "./prepared.ts";
export { elapsed, type Log, withTicker } from "./progress.ts";
export { majorOf, minorOf, reportedVersion } from "./version.ts";
