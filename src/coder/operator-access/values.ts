import { DatabaseProblem } from "./failure.ts";

/** A value from the server, or undefined if there is no such column. */
type Value = string | null | undefined;

export function isTrue(value: Value): boolean {
  return value === "t";
}

/** Strings of a JSON array. */
export function texts(value: Value): string[] {
  const list = parsed(value);
  if (Array.isArray(list) && list.every((item) => typeof item === "string")) return list;
  throw unexpected("a list of strings");
}

/** An integer. */
export function count(value: Value): number {
  const number = value ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw unexpected("a number");
}

/** Converts seconds to milliseconds since the epoch. */
export function milliseconds(value: Value): number {
  const seconds = value ? Number(value) : Number.NaN;
  if (Number.isFinite(seconds)) return Math.round(seconds * 1_000);
  throw unexpected("a time");
}

function parsed(value: Value): unknown {
  try {
    return JSON.parse(value ?? "");
  } catch {
    return undefined;
  }
}

function unexpected(what: string): DatabaseProblem {
  return new DatabaseProblem(
    "transient",
    `The database returned an unexpected value where ${what} was expected.`,
  );
}
