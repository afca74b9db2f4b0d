import type { LogFields } from "../log.ts";
import { MARK, redactText } from "./redactor.ts";

/** Names of fields whose values are always secret, ignoring case and punctuation. */
const SECRET_NAMES = new Set([
  "password",
  "passwd",
  "secret",
  "clientsecret",
  "token",
  "accesstoken",
  "refreshtoken",
  "sessiontoken",
  "idtoken",
  "apikey",
  "privatekey",
  "authorization",
  "cookie",
  "setcookie",
  "jwt",
  "connectionurl",
  "dsn",
  "credentials",
  "data",
  "stringdata",
  "body",
]);

const MAX_DEPTH = 6;

/** Maximum number of values in a log field, at any depth. */
const MAX_VALUES = 1_000;

/**
 * A printable copy of log fields. This is a safety net, because secrets must not be logged in the first
 * place: values of secret names, passwords in URLs, bearer tokens and JWTs are replaced; errors are reduced
 * to their description; class instances are not opened.
 */
export function printableFields(fields: LogFields): LogFields {
  return printed(fields, 0, { left: MAX_VALUES }) as LogFields;
}

function printed(value: unknown, depth: number, values: { left: number }): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return printableError(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  if (depth >= MAX_DEPTH || values.left <= 0) return "[…]";
  const inside = (inner: unknown) => printed(inner, depth + 1, values);
  if (Array.isArray(value)) return taken(value, values).map(inside);
  if (!isPlain(value)) return `[${value.constructor?.name ?? "object"}]`;
  return Object.fromEntries(
    taken(Object.entries(value), values).map(([name, inner]) => [
      name,
      isSecretName(name) && inner !== undefined ? MARK : inside(inner),
    ]),
  );
}

/** As many items as the limit still allows. */
function taken<T>(items: readonly T[], values: { left: number }): readonly T[] {
  const some = items.slice(0, Math.max(values.left, 0));
  values.left -= some.length;
  return some;
}

/** Causes are included as messages, outermost first. */
function printableError(error: Error & { reason?: unknown; code?: unknown }): object {
  const causes = causesOf(error).map(textOf);
  return {
    type: error.name,
    message: textOf(error),
    ...(typeof error.reason === "string" && { reason: error.reason }),
    ...((typeof error.code === "string" || typeof error.code === "number") && { code: error.code }),
    ...(causes.length > 0 && { causes }),
    ...(isBug(error) && { stack: framesOf(error) }),
  };
}

/** A parser's message quotes its input, which may be anything. */
function textOf(error: unknown): string {
  if (error instanceof SyntaxError) return "malformed data";
  return redactText(error instanceof Error ? error.message : `thrown ${typeof error}`);
}

function causesOf(error: Error, depth = 0): unknown[] {
  if (depth >= MAX_DEPTH) return [];
  const direct: unknown[] = error instanceof AggregateError ? [...error.errors] : [];
  if (error.cause !== undefined) direct.push(error.cause);
  return direct.flatMap((cause) => [cause, ...(cause instanceof Error ? causesOf(cause, depth + 1) : [])]);
}

/** The stack of an external failure is not useful; for a bug it is essential. */
export function isBug(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

function framesOf(error: Error): string[] {
  const lines = (error.stack ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => line.startsWith("at ")).slice(0, 10);
}

function isSecretName(name: string): boolean {
  const letters = name.slice(0, 64).replace(/[^a-z]/gi, "");
  return SECRET_NAMES.has(letters.toLowerCase());
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
