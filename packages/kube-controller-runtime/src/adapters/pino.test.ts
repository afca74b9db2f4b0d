import { pino } from "pino";
import { expect, test } from "vitest";
import { pinoLogger } from "./pino.ts";

function setUp() {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = pinoLogger(pino({ level: "info", base: null, timestamp: false }, destination));
  return { log, lines: () => lines.map((line) => JSON.parse(line)) };
}

test("pino gets the message, the fields and those of all parents", () => {
  const { log, lines } = setUp();
  log.child({ controller: "widgets" }).child({ run: "1f" }).warn("retrying", { failures: 2 });
  expect(lines()).toEqual([{ level: 40, controller: "widgets", run: "1f", failures: 2, msg: "retrying" }]);
});

test("pino decides which levels are written", () => {
  const { log, lines } = setUp();
  log.debug("unheard");
  log.info("heard");
  expect(lines()).toMatchObject([{ msg: "heard" }]);
});

test("pino never sees a secret, neither in a field nor in the message nor in a child's fields", () => {
  const { log, lines } = setUp();
  log.child({ password: "hunter2" }).error("postgres://coder:hunter2@db failed", { token: "hunter2" });
  expect(JSON.stringify(lines())).not.toContain("hunter2");
});
