import { cachedCoderBinaries, coderBinaries } from "../../../tools/coder/binaries.ts";
import type { CoderBinaries } from "../../../tools/coder/pins.ts";

/** Whether missing Coders are built, which takes many minutes. */
export function mayBuild(): boolean {
  return process.env.BUILD_CODER === "1";
}

/** The Coders in all versions, after waiting for those that are being built. Absent if they are not built. */
export async function everyCoder(): Promise<CoderBinaries | undefined> {
  return mayBuild() ? coderBinaries() : cachedCoderBinaries();
}
