import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { CoderBinaries } from "../tools/coder/pins.ts";

type LicenseKind = "premium" | "enterprise" | "trial" | "expired";
type Minted<Kinds extends readonly LicenseKind[]> = { -readonly [Index in keyof Kinds]: string };

/**
 * Signs licenses for the licensed Coder of these binaries, one for each requested kind, valid for an hour.
 */
export async function mint<const Kinds extends readonly LicenseKind[]>(
  { coder }: Pick<CoderBinaries, "coder">,
  ...kinds: Kinds
): Promise<Minted<Kinds>> {
  const { stdout } = await promisify(execFile)(coder, ["mint", ...kinds]);
  return stdout.trim().split("\n") as Minted<Kinds>;
}
