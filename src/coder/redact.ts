import { Redactor, recognizeTokens } from "kube-controller-runtime";

/** Maximum length to read for the quoted characters, because some may be masked or whitespace. */
const MAX_READ_CHARACTERS = 4 * 1024;
const MAX_QUOTED_CHARACTERS = 300;

const SESSION_TOKEN = /(?<!\w)\w{10}-\w{22}(?!\w)/g;

/**
 * Coder's daemons request a URL that contains their key at startup, and the error of that request quotes the
 * URL.
 */
const PROVISIONER_KEY = /(?<![\w-])(?=[\w-]*[A-Z])[\w-]{43}(?![\w-])/g;

recognizeTokens(SESSION_TOKEN, PROVISIONER_KEY);

/** A redactor that knows the shapes of Coder's tokens. */
export { Redactor, redactText } from "kube-controller-runtime";

/** Makes external text safe to quote: one line without secrets, neither the given ones nor any by its shape. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const safe = new Redactor({ secrets }).text(text, MAX_READ_CHARACTERS).replace(/\s+/g, " ").trim();
  return safe.length > MAX_QUOTED_CHARACTERS
    ? `${safe.slice(0, MAX_QUOTED_CHARACTERS).toWellFormed()}…`
    : safe;
}
