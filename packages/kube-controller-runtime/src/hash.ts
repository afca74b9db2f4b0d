import { hash as digest } from "node:crypto";

const OFFSET_32 = 0x811c9dc5;
const PRIME_32 = 0x01000193;
const OFFSET_64 = 0xcbf29ce484222325n;
const PRIME_64 = 0x100000001b3n;

/** FNV-1a/32 of the UTF-8 bytes of `text`, as 8 lower-case hex digits. */
export function fnv1a32(text: string): string {
  let hash = OFFSET_32;
  for (const byte of Buffer.from(text, "utf8")) hash = Math.imul(hash ^ byte, PRIME_32);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** FNV-1a/64 of the UTF-8 bytes of `text`, as 16 lower-case hex digits. */
export function fnv1a64(text: string): string {
  let hash = OFFSET_64;
  for (const byte of Buffer.from(text, "utf8")) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME_64);
  return hash.toString(16).padStart(16, "0");
}

/** A hash that changes with any part; the parts may be secrets. */
export function fingerprint(parts: readonly (string | undefined)[]): string {
  return digest("sha256", JSON.stringify(parts));
}
