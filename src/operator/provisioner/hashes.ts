import { fnv1a32 } from "kube-controller-runtime";

/** Differs between sets of tags; the order in which they are written does not count. */
export function tagsHash(tags: Readonly<Record<string, string>>): string {
  const names = Object.keys(tags).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return fnv1a32(names.map((name) => `${name}\0${tags[name]}\0`).join(""));
}

/** Changes with the key and reveals nothing of it; pods carry it, so that a new key replaces them. */
export function keyChecksum(key: string): string {
  return fnv1a32(key);
}
