import { execFile } from "node:child_process";
import { promisify } from "node:util";

const VERSION_TIMEOUT_MS = 30_000;

/** `v1.36.3` → `1.36`: must match between the pin and a binary that was built elsewhere. */
export function minorOf(version: string): string {
  return version.replace(/^v/, "").split(".").slice(0, 2).join(".");
}

/** `v3.6.8` → `3`. */
export function majorOf(version: string): string {
  return version.replace(/^v/, "").split(".")[0] ?? version;
}

/** The version that a binary prints with these arguments; throws if the binary does not run. */
export async function reportedVersion(file: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(file, args, { timeout: VERSION_TIMEOUT_MS });
    return /v?(\d+\.\d+\.\d+)/.exec(stdout)?.[0] ?? "unknown";
  } catch (cause) {
    throw new Error(`${file} does not run on this machine`, { cause });
  }
}
