import type { Logger as Pino } from "pino";
import type { LogFields, Logger } from "../log.ts";
import type { LogLevel } from "../logging.ts";
import { printableFields } from "../redact/fields.ts";
import { redactText } from "../redact/redactor.ts";

/**
 * A `Logger` that writes through pino, for operators that already use it: its level, transports and
 * serializers apply. Secrets are redacted before they reach pino, as in `createLogger`.
 */
export function pinoLogger(pino: Pino): Logger {
  const write = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (pino.isLevelEnabled(level)) pino[level](printableFields(fields ?? {}), redactText(message));
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => pinoLogger(pino.child(printableFields(fields))),
  };
}
