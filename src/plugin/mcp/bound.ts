import { type Redactor, redactText } from "../../coder/redact.ts";

/** Maximum length of an answer: more would crowd out the rest of the assistant's context. */
const MAX_CHARACTERS = 100_000;
/** Limits for the entries of each list; the largest that fits applies. */
const LIST_LENGTHS = [200, 50, 20, 5];
const DEEPEST = 12;
const MAX_TEXT_CHARACTERS = 8 * 1024;
/** A log keeps its end, any other list its beginning. */
const LOG = "lines";

/**
 * Fields with names of objects, which an assistant uses in later requests. A Secret may contain the same
 * text, such as a host or a database, so these are masked only by their shape.
 */
const NAMES: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "object",
  "pod",
  "condition",
  "reason",
  "status",
]);

/**
 * Data of the cluster as text of limited size. Truncated lists say how many entries were omitted. Secrets
 * that the redactor knows, and text that looks like a token, a key or a password in a URL, are masked
 * everywhere.
 */
export function boundedText(data: unknown, redactor: Pick<Redactor, "text">): string {
  const show = showing(redactor);
  for (const length of LIST_LENGTHS) {
    const text = JSON.stringify(bounded(data, "", { length, depth: DEEPEST, show }), undefined, 1);
    if (text.length <= MAX_CHARACTERS) return text;
  }
  throw new Error("The answer is too long: request a single namespace or object.");
}

/** Formats the text of a field. Results are cached, because the same message occurs in many places. */
function showing(redactor: Pick<Redactor, "text">): Within["show"] {
  const searched = new Map<string, string>();
  return (text, field) => {
    if (NAMES.has(field)) return redactText(text);
    const known = searched.get(text) ?? redactor.text(text, MAX_TEXT_CHARACTERS);
    searched.set(text, known);
    return known;
  };
}

interface Within {
  readonly length: number;
  readonly depth: number;
  readonly show: (text: string, field: string) => string;
}

function bounded(value: unknown, field: string, within: Within): unknown {
  const { length, depth, show } = within;
  if (typeof value === "string") return show(value, field);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  const inside = (below: unknown, name: string) => bounded(below, name, { ...within, depth: depth - 1 });
  if (Array.isArray(value)) {
    const kept = value.slice(0, length).map((item) => inside(item, field));
    return value.length > length ? [...kept, `… and ${value.length - length} more`] : kept;
  }
  const entries = Object.entries(value).map(([name, below]) => [
    name,
    inside(name === LOG ? endOf(below, length) : below, name),
  ]);
  return Object.fromEntries(entries);
}

/** The last lines of a log, after one that says how many were omitted; `length` lines in total. */
function endOf(lines: unknown, length: number): unknown {
  if (!Array.isArray(lines) || lines.length <= length) return lines;
  const kept = lines.slice(1 - length);
  return [`… ${lines.length - kept.length} before these`, ...kept];
}
