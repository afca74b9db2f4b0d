import { redactText } from "kube-controller-runtime";
import { RECOGNISED_CHARACTERS } from "../../coder/redact.ts";
import type { Redactor } from "../commands/bundle/redact.ts";

/** So much an assistant gets of one answer: more would crowd out everything else that it knows. */
const MAX_CHARACTERS = 100_000;
/** How many entries of each list are kept, the most that fit. */
const LIST_LENGTHS = [200, 50, 20, 5];
const DEEPEST = 12;
/** As much of one text as is looked at: more than is shown, since some of it may be masked. */
const MAX_READ_CHARACTERS = 16 * 1024;
/** Of a log the end matters, of any other list the beginning. */
const LOG = "lines";

/**
 * Names of fields that hold names of the cluster, by which an assistant asks on. A Secret may have the same text in it,
 * such as a host or a database, so these are masked by their shape alone.
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
 * Data of the cluster as text of a bounded size. Lists that are too long say how many were left out; what the
 * redactor knows, and what looks like a token, a key or a password in a URL, is masked, wherever it stands.
 */
export function boundedText(data: unknown, redactor: Pick<Redactor, "text">): string {
  const show = showing(redactor);
  for (const length of LIST_LENGTHS) {
    const text = JSON.stringify(bounded(data, "", { length, depth: DEEPEST, show }), undefined, 1);
    if (text.length <= MAX_CHARACTERS) return text;
  }
  throw new Error("The answer is too long: ask for one namespace, or for one object.");
}

/** How the text of a field is shown. The same message stands in many places, and is searched once. */
function showing(redactor: Pick<Redactor, "text">): Within["show"] {
  const searched = new Map<string, string>();
  return (text, field) => {
    if (NAMES.has(field)) return redactText(text);
    const known = searched.get(text) ?? redactText(beginningOf(text, redactor));
    searched.set(text, known);
    return known;
  };
}

/** Text is cut before it is searched. What the cut leaves of a secret may be too short to be recognized, so it goes too. */
function beginningOf(text: string, redactor: Pick<Redactor, "text">): string {
  if (text.length <= MAX_READ_CHARACTERS) return redactor.text(text);
  return `${redactor.text(text.slice(0, MAX_READ_CHARACTERS)).slice(0, -RECOGNISED_CHARACTERS)}…`;
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

/** The last lines of a log, under one that says how many there were before, so that as many as `length` are left. */
function endOf(lines: unknown, length: number): unknown {
  if (!Array.isArray(lines) || lines.length <= length) return lines;
  const kept = lines.slice(1 - length);
  return [`… ${lines.length - kept.length} before these`, ...kept];
}
