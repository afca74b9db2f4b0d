import { maskSecrets } from "kube-controller-runtime";

const MARK = "***";

/** As much as is looked at for the sake of the quoted characters: some of it may be masked or blank. */
const MAX_READ_CHARACTERS = 4 * 1024;
const MAX_QUOTED_CHARACTERS = 300;

/** So much of a known secret is enough to recognize it. */
export const RECOGNIZED_CHARACTERS = 64;

/** A provisioner key: Coder's daemons ask for a URL with it when they start, which the error of that request quotes. */
const DAEMON_KEY = /(?<![\w-])(?=[\w-]*[A-Z])[\w-]{43}(?![\w-])/g;

/** Text up to the limit without what is shaped like a secret, keys of Coder's daemons included. */
export function maskCoderSecrets(...[text, options]: Parameters<typeof maskSecrets>): string {
  return maskSecrets(text, options).text.replace(DAEMON_KEY, options.mark);
}

/**
 * Makes text that came from outside fit to be shown: the given secrets, and anything shaped like a JWT, a
 * session token or a URL with credentials, are replaced, and what is left is cut to a readable length. The text
 * is cut before it is searched, so the work does not grow with longer ones.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  const known = secrets.map((secret) => secret.trim()).filter((secret) => secret !== "");
  const window = text.slice(0, MAX_READ_CHARACTERS + RECOGNIZED_CHARACTERS);
  const start = known.reduce(withoutSecret, window);
  // What the end of the window holds may be the beginning of a secret, too short to be recognized.
  const limit = text.length > window.length ? start.length - RECOGNIZED_CHARACTERS : start.length;
  const masked = maskCoderSecrets(start, { mark: MARK, limit: Math.max(limit, 0) });
  const safe = masked.replace(/\s+/g, " ").trim();
  return safe.length > MAX_QUOTED_CHARACTERS
    ? `${safe.slice(0, MAX_QUOTED_CHARACTERS).toWellFormed()}…`
    : safe;
}

/** By its beginning, and then as far as the text goes on with it: a secret may be as long as a Secret. */
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

/** How many characters a text has in common with a secret from a place on. */
export function sharedLength(text: string, at: number, secret: string): number {
  let length = 0;
  while (length < secret.length && text[at + length] === secret[length]) length++;
  return length;
}
