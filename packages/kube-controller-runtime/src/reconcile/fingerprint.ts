import { createHash } from "node:crypto";

/** Tells whether anything of all this has changed, without keeping any of it: secrets may be among it. */
export function fingerprint(parts: readonly (string | undefined)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
