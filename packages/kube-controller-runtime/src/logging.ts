import type { LogFields, Logger } from "./log.ts";
import { printableFields, redactText } from "./redact.ts";

/** How severe a line is, the least severe first. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** `json`: one object per line; `text`: the same for people. */
export type LogFormat = "json" | "text";

/** What a logger writes, and where. */
export interface LoggerOptions {
  /** The least severe lines that are written. */
  readonly level: LogLevel;
  /** Where lines go; standard output when absent. */
  readonly destination?: { write(line: string): void };
  /** `json` when absent. */
  readonly format?: LogFormat;
}

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/**
 * A logger that writes one JSON object per line: `level`, `time` (ISO 8601), the fields, `msg`; or the same as
 * text. Every field passes through a redaction first, so a field that should not have been logged shows as redacted.
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
      // A field of the same name must not pass for the line's own.
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
 * A JSON line of the log as a person reads it: `<time> <LEVEL> <message> key=value …`. Always one line; a text with
 * anything but letters, digits and common punctuation in it is quoted as JSON quotes it.
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
