const JWT = /\beyJ[\w-]*\.[\w-]+\.?[\w-]*/g;
const SESSION_TOKEN = /\b[A-Za-z0-9]{10}-[A-Za-z0-9]{22}\b/g;
const URL_WITH_CREDENTIALS = /\b[a-z][a-z0-9+.-]*:\/\/[^\s/@"']+@[^\s"']*/gi;

const MAX_QUOTED_CHARACTERS = 300;

/**
 * Makes text that came from outside fit to be shown: the given secrets, and anything shaped like a JWT, a
 * session token or a URL with credentials, are replaced, and what is left is cut to a readable length.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  let safe = text;
  for (const secret of secrets) if (secret.trim() !== "") safe = safe.replaceAll(secret.trim(), "***");
  safe = safe.replace(JWT, "***").replace(SESSION_TOKEN, "***").replace(URL_WITH_CREDENTIALS, "***");
  safe = safe.replace(/\s+/g, " ").trim();
  return safe.length > MAX_QUOTED_CHARACTERS ? `${safe.slice(0, MAX_QUOTED_CHARACTERS)}…` : safe;
}
