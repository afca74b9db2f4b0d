import { createHash } from "node:crypto";

/** Changes when any of this changes, without keeping any of it: secrets may be among it. */
export function fingerprint(parts: readonly (string | undefined)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
