import { describe, expect, test } from "vitest";
import { createLogger, logText } from "./logging.ts";

const time = "2026-01-02T03:04:05.678Z";

describe("a line of the text log", () => {
  test.for<[string, Record<string, unknown>, string]>([
    [
      "has time, level, message and fields",
      { kind: "Secret", tries: 3 },
      "INFO  run ended kind=Secret tries=3",
    ],
    ["quotes a value with blanks", { because: "no such host" }, 'INFO  run ended because="no such host"'],
    [
      "keeps line breaks from looking like another line",
      { text: "a\nINFO forged" },
      'INFO  run ended text="a\\nINFO forged"',
    ],
    ["shows objects as JSON", { error: { code: 404 } }, 'INFO  run ended error={"code":404}'],
  ])("%s", ([, fields, text]) => {
    const line = JSON.stringify({ level: "info", time, ...fields, msg: "run ended" });
    expect(logText(line)).toBe(`${time} ${text}\n`);
  });

  test("breaks no line in its message, and leaves quotes in it as they are", () => {
    const line = JSON.stringify({ level: "error", time, msg: 'Secret "db"\nis missing' });
    expect(logText(line)).toBe(`${time} ERROR Secret "db"\\nis missing\n`);
  });

  test("is what a logger of that format writes, with secrets redacted as in JSON", () => {
    const lines: string[] = [];
    const log = createLogger({
      level: "info",
      format: "text",
      destination: { write: (line) => lines.push(line) },
    });
    log.child({ run: 7 }).warn("retrying", { url: "postgres://coder:hunter2@db/coder" });
    expect(lines.join("")).toMatch(/^\S+Z WARN {2}retrying run=7 url=.*\n$/);
    expect(lines.join("")).not.toContain("hunter2");
  });
});
