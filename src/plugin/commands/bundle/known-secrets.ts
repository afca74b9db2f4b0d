import { RECOGNISED_CHARACTERS, sharedLength } from "../../../coder/redact.ts";

export const REDACTED = "[redacted]";

/** A shorter one would be found everywhere, and is no secret worth the name. */
const MIN_SECRET_LENGTH = 6;
const STARTS = 2 ** 20;

/**
 * Replaces known secrets in text, in time that does not grow with their number: by a hash of their beginnings, and
 * then as far as the text goes on with one, since a secret may be as long as a Secret and a log may cut it.
 */
export class KnownSecrets {
  /** By a hash of their first characters, whether any begins so: most places of a text are done with that. */
  readonly #starts = new Uint8Array(STARTS);
  /** By their first characters, how much has to be compared, the most first. */
  readonly #lengths = new Map<string, readonly number[]>();
  /** By as much of them as is recognised. */
  readonly #secrets: ReadonlyMap<string, readonly string[]>;

  constructor(secrets: Iterable<string>) {
    const worthy = new Set(secrets).values().filter(({ length }) => length >= MIN_SECRET_LENGTH);
    this.#secrets = Map.groupBy(worthy, (secret) => secret.slice(0, RECOGNISED_CHARACTERS));
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

  /** Where a secret that begins at a place ends; the place itself when none does. */
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
