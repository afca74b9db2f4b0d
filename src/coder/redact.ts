import { maskSecrets } from "kube-controller-runtime";

const MARK = "***";

/** Maximum length to read for the quoted characters, because some may be masked or whitespace. */
const MAX_READ_CHARACTERS = 4 * 1024;
const MAX_QUOTED_CHARACTERS = 300;

/** This part of a known secret suffices to recognize it. */
export const RECOGNIZED_CHARACTERS = 64;

/**
 * A provisioner key. Coder's daemons request a URL that contains it at startup, and the error of that request
 * quotes the URL.
 */
const DAEMON_KEY = /(?<![\w-])(?=[\w-]*[A-Z])[\w-]{43}(?![\w-])/g;

/** Masks everything that looks like a secret, including provisioner keys, and truncates the text. */
export function maskCoderSecrets(...[text, options]: Parameters<typeof maskSecrets>): string {
  return maskSecrets(text, options).text.replace(DAEMON_KEY, options.mark);
}

/**
 * Makes external text safe to show: replaces the given secrets and anything that looks like a JWT, a session
 * token or a URL with credentials, and truncates the rest. The text is truncated before it is searched, so
 * the cost is bounded.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  const known = secrets.map((secret) => secret.trim()).filter((secret) => secret !== "");
  const window = text.slice(0, MAX_READ_CHARACTERS + RECOGNIZED_CHARACTERS);
  const start = known.reduce(withoutSecret, window);
  // The end of the window may be the beginning of a secret that is too short to recognize.
  const limit = text.length > window.length ? start.length - RECOGNIZED_CHARACTERS : start.length;
  const masked = maskCoderSecrets(start, { mark: MARK, limit: Math.max(limit, 0) });
  const safe = masked.replace(/\s+/g, " ").trim();
  return safe.length > MAX_QUOTED_CHARACTERS
    ? `${safe.slice(0, MAX_QUOTED_CHARACTERS).toWellFormed()}…`
    : safe;
}

/**
 * Matches the beginning of a secret and then as much as the text has in common with it, because a secret may
 * be as large as a Secret.
 */
function withoutSecret(text: string, secret: string): string {
  const recognized = secret.slice(0, RECOGNIZED_CHARACTERS);
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf(recognized); at >= 0; at = text.indexOf(recognized, from)) {
    parts.push(text.slice(from, at), MARK);
    from = at + sharedLength(text, at, secret);
  }
  return `${parts.join("")}${text.slice(from)}`;
}

/** Returns the number of characters that a text has in common with a secret at an offset. */
export function sharedLength(text: string, at: number, secret: string): number {
  let length = 0;
  while (length < secret.length && text[at + length] === secret[length]) length++;
  return length;
}
