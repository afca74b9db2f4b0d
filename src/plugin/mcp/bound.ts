import { redactText } from "kube-controller-runtime";

/** So much an assistant gets of one answer: more would crowd out everything else that it knows. */
const MOST_CHARACTERS = 100_000;
/** How many entries of each list are kept, the most that fit. */
const LIST_LENGTHS = [200, 50, 20, 5];
const DEEPEST = 12;
/** Of a log the end matters, of any other list the beginning. */
const LOG = "lines";

/**
 * Data of the cluster as text of a bounded size. Lists that are too long say how many were left out; what looks
 * like a token, a key or a password in a URL is masked, wherever it stands.
 */
export function boundedText(data: unknown): string {
  for (const length of LIST_LENGTHS) {
    const text = JSON.stringify(bounded(data, length, DEEPEST), undefined, 1);
    if (text.length <= MOST_CHARACTERS) return text;
  }
  throw new Error("The answer is too long: ask for one namespace, or for one object.");
}

function bounded(value: unknown, length: number, depth: number): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  const inside = (below: unknown) => bounded(below, length, depth - 1);
  if (Array.isArray(value)) {
    const kept = value.slice(0, length).map(inside);
    return value.length > length ? [...kept, `… and ${value.length - length} more`] : kept;
  }
  const entries = Object.entries(value).map(([name, below]) => [
    name,
    inside(name === LOG ? endOf(below, length) : below),
  ]);
  return Object.fromEntries(entries);
}

/** The last lines of a log, under one that says how many there were before, so that as many as `length` are left. */
function endOf(lines: unknown, length: number): unknown {
  if (!Array.isArray(lines) || lines.length <= length) return lines;
  const kept = lines.slice(1 - length);
  return [`… ${lines.length - kept.length} before these`, ...kept];
}
