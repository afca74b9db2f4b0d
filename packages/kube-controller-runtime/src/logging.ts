import type { LogFields, Logger } from "./log.ts";
import { printableFields } from "./redact/fields.ts";
import { redactText } from "./redact/redactor.ts";

/** Levels in ascending order of severity. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** `json`: one object per line; `text`: the same in a readable format. */
export type LogFormat = "json" | "text";

/** Options of a logger. */
export interface LoggerOptions {
  /** The minimum level that is written. */
  readonly level: LogLevel;
  /** Where lines are written; defaults to standard output. */
  readonly destination?: { write(line: string): void };
  /** Defaults to `json`. */
  readonly format?: LogFormat;
}

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/**
 * A logger that writes one JSON object per line: `level`, `time` (ISO 8601), the fields, `msg`; or the same
 * as text. Every field is redacted first, as a safety net for secrets.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { level, destination = process.stdout, format = "json" } = options;
  const write = (line: string) => void destination.write(format === "text" ? logText(line) : line);
  return lineLogger(SEVERITY[level], write, {});
}

function lineLogger(least: number, write: (line: string) => void, common: LogFields): Logger {
  const log =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (SEVERITY[level] < least) return;
      const own = { level, time: new Date().toISOString() };
      const line = { ...own, ...common, ...printableFields(fields) };
      // The line's own fields take precedence over fields with the same name.
      write(`${JSON.stringify({ ...line, ...own, msg: redactText(message) })}\n`);
    };
  return {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    child: (fields) => lineLogger(least, write, { ...common, ...printableFields(fields) }),
  };
}

const LEVEL_WIDTH = "error".length;

/**
 * Formats a JSON line of the log as text: `<time> <LEVEL> <message> key=value …`. Always one line; text with
 * characters other than letters, digits and common punctuation is quoted like in JSON.
 */
export function logText(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<"level" | "time" | "msg", string>;
  const facts = Object.entries(fields).map(([name, value]) => ` ${name}=${valueText(value)}`);
  return `${time} ${level.toUpperCase().padEnd(LEVEL_WIDTH)} ${oneLine(msg)}${facts.join("")}\n`;
}

function valueText(value: unknown): string {
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function oneLine(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\");
}
