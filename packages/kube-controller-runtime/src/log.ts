/**
 * Additional fields of a log message. Values must be safe to print: never an object that may contain a
 * secret.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** A structured logger. `child` adds fields to all later lines, such as the ID of a run. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}
