/**
 * Masks secrets in text by their shape: credentials in URLs, passwords in connection strings and forms,
 * bearer tokens and JWTs. The text may be crafted to be slow to search, so it is truncated and then scanned
 * once from the left: the work is linear, which `charactersRead` lets a test verify.
 */

const SCHEME_END = "://";
const BEARER = "bearer";
const JWT_START = "eyJ";

/** In the syntax of connection strings and forms, quoted or not. */
const PASSWORD = /\b(password|passwd|pwd)=(?:'[^']*'?|"[^"]*"?|[^\s;&]+)/gi;

interface MaskOptions {
  /** The replacement for a secret. */
  readonly mark: string;
  /** Maximum length to scan; the rest is replaced by an ellipsis. */
  readonly limit: number;
  /** Whether the text was already truncated. */
  readonly isCut?: boolean;
}

interface Masked {
  readonly text: string;
  readonly charactersRead: number;
}

/**
 * Every kind of secret contains one of these, unless it is truncated: the mark of a URL, of a bearer token, a
 * JWT or a password.
 */
const TRACE = /:\/\/|bearer|eyJ|(?:password|passwd|pwd)=/i;

/**
 * `text` up to `limit`, without anything that looks like a secret. A secret that is truncated is masked too.
 */
export function maskShapes(text: string, { mark, limit, isCut: wasCut = false }: MaskOptions): Masked {
  const isCut = wasCut || text.length > limit;
  if (!isCut && !TRACE.test(text)) return { text, charactersRead: text.length };
  const scan = new Scan(isCut ? text.slice(0, limit).toWellFormed() : text);
  const parts: string[] = [];
  let isToken = false;
  const whole = { start: 0, end: scan.text.length, isLast: isCut };
  for (const { before, run: word } of scan.runs(whole, isNotBlank)) {
    parts.push(before, isToken ? mark : maskWord(scan, word, mark));
    const { start, end } = word;
    isToken = end > start && scan.text.slice(end - BEARER.length, end).toLowerCase() === BEARER;
  }
  const masked = parts.join("").replace(PASSWORD, (_, name: string) => `${name}=${mark}`);
  return { text: `${masked}${isCut ? "…" : ""}`, charactersRead: scan.charactersRead };
}

/** A section of the text; `isLast` if it ends where the text was truncated. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly isLast: boolean;
}

class Scan {
  readonly text: string;
  charactersRead = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The end of the run of characters for which `belong` is true, starting at `from`. */
  runEnd(from: number, belongs: (code: number) => boolean, end: number): number {
    let at = from;
    while (at < end && belongs(this.text.charCodeAt(at))) at++;
    this.charactersRead += at - from + 1;
    return at;
  }

  /**
   * The runs of characters for which `belong` is true, each with the text before it; the last one may be
   * empty.
   */
  *runs({ start, end, isLast }: Stretch, belongs: (code: number) => boolean) {
    for (let at = start; at < end; ) {
      const from = this.runEnd(at, (code) => !belongs(code), end);
      const to = this.runEnd(from, belongs, end);
      const run: Stretch = { start: from, end: to, isLast: isLast && to === end };
      yield { before: this.text.slice(at, from), run };
      at = to;
    }
  }
}

function maskWord(scan: Scan, word: Stretch, mark: string): string {
  const url = credentialsOf(scan, word);
  const parts: string[] = [];
  const rest = url === undefined ? word : { ...word, end: url, isLast: false };
  for (const { before, run } of scan.runs(rest, isTokenPart)) {
    const jwt = jwtIn(scan, run);
    parts.push(before, scan.text.slice(run.start, jwt ?? run.end), jwt === undefined ? "" : mark);
  }
  return `${parts.join("")}${url === undefined ? "" : mark}`;
}

/** The start of the first URL's host or credentials in the word, if one of its URLs has credentials. */
function credentialsOf(scan: Scan, { start, end, isLast }: Stretch): number | undefined {
  let first: number | undefined;
  for (let at = start; at < end; ) {
    const colon = scan.runEnd(at, (code) => code !== COLON, end);
    if (colon === end) return undefined;
    at = colon + 1;
    if (!scan.text.startsWith(SCHEME_END, colon)) continue;
    at = colon + SCHEME_END.length;
    first ??= at;
    const stop = nextScheme(scan, at, end);
    if (hasCredentials(scan, { start: at, end: stop, isLast: isLast && stop === end })) return first;
    at = stop;
  }
  return undefined;
}

/** The end of a URL: the end of the word, or the colon of the next URL's scheme. */
function nextScheme(scan: Scan, from: number, end: number): number {
  let at = scan.runEnd(from, (code) => code !== COLON, end);
  while (at < end && !scan.text.startsWith(SCHEME_END, at))
    at = scan.runEnd(at + 1, (code) => code !== COLON, end);
  return at;
}

/** `user:pass@host`, also with an unescaped slash in the password, which is invalid but common. */
function hasCredentials(scan: Scan, { start, end, isLast }: Stretch): boolean {
  const authority = scan.runEnd(start, (code) => code !== SLASH && code !== AT, end);
  if (scan.text.charCodeAt(authority) === AT && authority < end) return true;
  const colon = scan.runEnd(start, (code) => code !== COLON, authority);
  if (colon === authority) return false;
  const port = scan.runEnd(colon + 1, isDigit, authority);
  if (port === authority) return false;
  return isLast || scan.runEnd(authority, (code) => code !== AT, end) < end;
}

/**
 * The start of a JWT in a run of letters, digits, dots, dashes and underscores: `eyJ` at the start of a word,
 * followed by a dot.
 */
function jwtIn({ text }: Scan, { start, end, isLast }: Stretch): number | undefined {
  const run = text.slice(start, end);
  for (let at = run.indexOf(JWT_START); at >= 0; at = run.indexOf(JWT_START, at + 1)) {
    if (at > 0 && isWordPart(run.charCodeAt(at - 1))) continue;
    return isLast || run.includes(".", at) ? start + at : undefined;
  }
  return undefined;
}

const COLON = 0x3a;
const SLASH = 0x2f;
const AT = 0x40;
const DASH = 0x2d;
const DOT = 0x2e;
const UNDERSCORE = 0x5f;

function isNotBlank(code: number): boolean {
  return code > 0x20 && code !== 0xa0 && code !== 0x2028 && code !== 0x2029;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isWordPart(code: number): boolean {
  const lower = code | 0x20;
  return isDigit(code) || (lower >= 0x61 && lower <= 0x7a) || code === UNDERSCORE;
}

function isTokenPart(code: number): boolean {
  return isWordPart(code) || code === DOT || code === DASH;
}
