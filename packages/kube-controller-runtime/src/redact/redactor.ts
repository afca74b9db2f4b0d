import { SecretValues } from "./secret-values.ts";
import { maskShapes } from "./shapes.ts";

/** Replaces a secret. */
export const MARK = "[redacted]";

/** Maximum length of a text in the log, an error or a condition. */
const MAX_TEXT = 8 * 1024;

/**
 * The text is truncated before it is searched. This many more characters are read and then dropped, because
 * they may be the beginning of a secret that is too short to be recognized.
 */
const MARGIN = 64;

/** What a redactor knows in addition to the shapes of secrets. */
export interface RedactorOptions {
  /** Values that are replaced wherever they appear, encoded or truncated. */
  readonly secrets?: Iterable<string>;
  /** Values that are shorter are ignored, because they would match everywhere. Defaults to 1. */
  readonly minLength?: number;
}

/** Patterns of an application's tokens, up to `MARGIN` characters long. */
const tokenShapes: RegExp[] = [];

/**
 * Registers the shapes of an application's tokens for all redactors of the process. A pattern must be global,
 * match at most 64 characters, and take linear time.
 */
export function recognizeTokens(...shapes: readonly RegExp[]): void {
  tokenShapes.push(...shapes);
}

/**
 * Removes secrets from text: known values, and everything that looks like a credential in a URL, a password
 * of a connection string, a bearer token, a JWT, or a token of the application. The time is linear in the
 * length of the text, up to a limit, and does not depend on the number of values unless many start alike.
 */
export class Redactor {
  readonly #values: SecretValues;

  constructor({ secrets = [], minLength = 1 }: RedactorOptions = {}) {
    this.#values = new SecretValues(secrets, { minLength, prefixLength: MARGIN });
  }

  /** The text without secrets, truncated to `limit`. */
  text(text: string, limit = MAX_TEXT): string {
    const window = text.slice(0, limit + MARGIN);
    const unknown = this.#values.replaceIn(window, MARK);
    const masked = tokenShapes.reduce((left, shape) => left.replace(shape, MARK), unknown);
    const isCut = window.length < text.length;
    const kept = isCut && !masked.endsWith(MARK) ? masked.slice(0, -MARGIN) : masked;
    return maskShapes(kept, { mark: MARK, limit, isCut }).text;
  }
}

const unknownSecrets = new Redactor();

/** Redacts text by the shape of secrets alone, and limits it to 8 KiB. */
export function redactText(text: string, limit?: number): string {
  return unknownSecrets.text(text, limit);
}
