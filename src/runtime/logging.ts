import { type Logger as Pino, type LoggerOptions as PinoOptions, pino, stdTimeFunctions } from "pino";
import type { LogFields, Logger } from "./log.ts";
import { printable, redactText } from "./redact.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LoggerOptions {
  /** The least important lines that are written. */
  readonly level: LogLevel;
  /** Where lines go; standard output when absent. */
  readonly destination?: { write(line: string): void };
}

/**
 * A logger that writes one JSON object per line: `level`, `time` (ISO 8601), the fields, `msg`. Everything
 * passes through `printable` first, so a field that should not have been logged shows as redacted.
 */
export function createLogger({ level, destination }: LoggerOptions): Logger {
  const options: PinoOptions = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  return new PinoLogger(destination ? pino(options, destination) : pino(options));
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
