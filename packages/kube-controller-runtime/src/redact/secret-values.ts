/** Minimum length of a line of a longer value that is a secret by itself. */
const MIN_LINE_LENGTH = 24;

/** Candidates are found by a hash of this many characters, or of the shortest value. */
const MAX_HASHED_LENGTH = 6;

/** At most 2^20 slots. */
const MAX_SLOT_BITS = 20;

/**
 * Known secrets. A hash of their first characters finds candidates, so the run time of a search does not
 * depend on their number unless many start alike. A match extends as far as the text continues with the secret, which may be truncated.
 */
export class SecretValues {
  readonly #hashedLength: number;
  readonly #slotBits: number;
  /** By hash of the first characters, whether any value starts with them: this rules out most positions. */
  readonly #slots: Uint8Array;
  /** By the first characters, the lengths to compare, in descending order. */
  readonly #lengths = new Map<string, readonly number[]>();
  /** By the prefix that is compared. */
  readonly #values: ReadonlyMap<string, readonly string[]>;

  /** `prefixLength`: this part of a value suffices to recognize it. */
  constructor(
    secrets: Iterable<string>,
    { minLength, prefixLength }: { readonly minLength: number; readonly prefixLength: number },
  ) {
    const values = new Set([...secrets].map((secret) => secret.trim()).flatMap(encodings));
    const known = [...values].filter(({ length }) => length >= minLength && length > 0);
    this.#values = Map.groupBy(known, (value) => value.slice(0, prefixLength));
    this.#hashedLength = known.reduce((least, { length }) => Math.min(least, length), MAX_HASHED_LENGTH);
    this.#slotBits = Math.min(MAX_SLOT_BITS, 8 + Math.ceil(Math.log2(known.length + 1)));
    this.#slots = new Uint8Array(2 ** this.#slotBits);
    const byStart = Map.groupBy(this.#values.keys(), (prefix) => prefix.slice(0, this.#hashedLength));
    for (const [start, prefixes] of byStart) {
      this.#slots[this.#slotAt(start, 0)] = 1;
      const lengths = new Set(prefixes.map(({ length }) => length));
      this.#lengths.set(
        start,
        [...lengths].sort((a, b) => b - a),
      );
    }
  }

  replaceIn(text: string, mark: string): string {
    if (this.#values.size === 0) return text;
    const parts: string[] = [];
    let kept = 0;
    for (let at = 0; at + this.#hashedLength <= text.length; ) {
      const end = this.#endAt(text, at);
      if (end > at) {
        parts.push(text.slice(kept, at), mark);
        kept = end;
      }
      at = Math.max(end, at + 1);
    }
    return `${parts.join("")}${text.slice(kept)}`;
  }

  /** The end of a value that starts at a position; the position itself if none does. */
  #endAt(text: string, at: number): number {
    if (this.#slots[this.#slotAt(text, at)] === 0) return at;
    const lengths = this.#lengths.get(text.slice(at, at + this.#hashedLength)) ?? [];
    for (const length of lengths) {
      const values = this.#values.get(text.slice(at, at + length));
      if (values) return at + Math.max(...values.map((value) => sharedLength(text, at, value)));
    }
    return at;
  }

  #slotAt(text: string, at: number): number {
    let hash = 0;
    for (let offset = 0; offset < this.#hashedLength; offset++)
      hash = Math.imul(hash, 31) + text.charCodeAt(at + offset);
    return Math.imul(hash, 0x9e3779b1) >>> (32 - this.#slotBits);
  }
}

function encodings(secret: string): string[] {
  const forms = [secret, ...linesOf(secret)].flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
  ]);
  // Without padding, it is also a prefix of the encoding of the same value with a line end.
  return [...forms, Buffer.from(secret).toString("base64").replace(/=+$/, "")];
}

function linesOf(secret: string): string[] {
  if (!secret.includes("\n")) return [];
  return secret
    .split("\n")
    .map((line) => line.trim())
    .filter(({ length }) => length >= MIN_LINE_LENGTH);
}

function sharedLength(text: string, at: number, value: string): number {
  let length = 0;
  while (length < value.length && text[at + length] === value[length]) length++;
  return length;
}
