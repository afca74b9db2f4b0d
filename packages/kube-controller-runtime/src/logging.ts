import { type Logger as Pino, type LoggerOptions as PinoOptions, pino, stdTimeFunctions } from "pino";
import type { LogFields, Logger } from "./log.ts";
import { logText } from "./log-text.ts";
import { printable, redactText } from "./redact.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFormat = "json" | "text";

interface Destination {
  write(line: string): void;
}

export interface LoggerOptions {
  /** The least important lines that are written. */
  readonly level: LogLevel;
  /** Where lines go; standard output when absent. */
  readonly destination?: Destination;
  /** `json` when absent. */
  readonly format?: LogFormat;
}

/**
 * A logger that writes one JSON object per line: `level`, `time` (ISO 8601), the fields, `msg`; or the same as
 * text. Everything passes through `printable` first, so a field that should not have been logged shows as redacted.
 */
export function createLogger({ level, destination, format = "json" }: LoggerOptions): Logger {
  const options: PinoOptions = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  const lines = destination ?? pino.destination(1);
  return new PinoLogger(pino(options, format === "text" ? asText(lines) : lines));
}

function asText(destination: Destination): Destination {
  return { write: (line) => destination.write(logText(line)) };
}

class PinoLogger implements Logger {
  readonly #pino: Pino;

  constructor(logger: Pino) {
    this.#pino = logger;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write("error", message, fields);
  }

  child(fields: LogFields): Logger {
    return new PinoLogger(this.#pino.child(printableFields(fields)));
  }

  #write(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (this.#pino.isLevelEnabled(level)) this.#pino[level](printableFields(fields), redactText(message));
  }
}

function printableFields(fields: LogFields): Record<string, unknown> {
  return printable(fields) as Record<string, unknown>;
}
