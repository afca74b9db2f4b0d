import { RECOGNIZED_CHARACTERS, sharedLength } from "../../../coder/redact.ts";

export const REDACTED = "[redacted]";

/** Minimum length: a shorter value would match everywhere. */
const MIN_SECRET_LENGTH = 6;
const STARTS = 2 ** 20;

/**
 * Replaces known secrets in text. The run time does not depend on the number of secrets: a hash of their
 * first characters finds candidates, and a match extends as far as the text continues with the secret,
 * because a log may truncate it.
 */
export class KnownSecrets {
  /**
   * By hash of the first characters, whether any secret starts with them: this rules out most positions of a
   * text.
   */
  readonly #starts = new Uint8Array(STARTS);
  /** By the first characters, the lengths to compare, in descending order. */
  readonly #lengths = new Map<string, readonly number[]>();
  /** By the prefix that is compared. */
  readonly #secrets: ReadonlyMap<string, readonly string[]>;

  constructor(secrets: Iterable<string>) {
    const worthy = new Set(secrets).values().filter(({ length }) => length >= MIN_SECRET_LENGTH);
    this.#secrets = Map.groupBy(worthy, (secret) => secret.slice(0, RECOGNIZED_CHARACTERS));
    for (const [start, alike] of Map.groupBy(this.#secrets.keys(), (known) =>
      known.slice(0, MIN_SECRET_LENGTH),
    )) {
      this.#starts[hashAt(start, 0)] = 1;
      const lengths = new Set(alike.map(({ length }) => length));
      this.#lengths.set(
        start,
        [...lengths].sort((a, b) => b - a),
      );
    }
  }

  without(text: string): string {
    const parts: string[] = [];
    let kept = 0;
    for (let at = 0; at + MIN_SECRET_LENGTH <= text.length; ) {
      const end = this.#endAt(text, at);
      if (end > at) {
        parts.push(text.slice(kept, at), REDACTED);
        kept = end;
      }
      at = Math.max(end, at + 1);
    }
    return `${parts.join("")}${text.slice(kept)}`;
  }

  /** The end of a secret that starts at a position; the position itself if none does. */
  #endAt(text: string, at: number): number {
    if (this.#starts[hashAt(text, at)] === 0) return at;
    const lengths = this.#lengths.get(text.slice(at, at + MIN_SECRET_LENGTH)) ?? [];
    for (const length of lengths) {
      const alike = this.#secrets.get(text.slice(at, at + length));
      if (alike) return at + Math.max(...alike.map((secret) => sharedLength(text, at, secret)));
    }
    return at;
  }
}

function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let offset = 0; offset < MIN_SECRET_LENGTH; offset++)
    hash = Math.imul(hash, 31) + text.charCodeAt(at + offset);
  return Math.imul(hash, 0x9e3779b1) >>> 12;
}
