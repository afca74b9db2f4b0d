import { describe, expect, it } from "vitest";
import { ApiError } from "./client/error.ts";
import { createLogger, type LogLevel } from "./logging.ts";

const MARK = "MARKED-SECRET";

function setUp(level: LogLevel = "debug") {
  const lines: string[] = [];
  const log = createLogger({ level, destination: { write: (line) => lines.push(line) } });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "null") };
}

describe("createLogger", () => {
  it("writes one JSON object per line with level, ISO time, fields and message", () => {
    const { log, lines, last } = setUp();
    log.info("cache synced", { kind: "secrets", objects: 3 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(last()).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      kind: "secrets",
      objects: 3,
      msg: "cache synced",
    });
  });

  it("limits a text to 8 KiB", () => {
    const { log, lines } = setUp();
    log.info("refused", { value: "a".repeat(1_000_000), error: new Error("b".repeat(1_000_000)) });
    expect(lines[0]?.length).toBeLessThan(20 * 1024);
  });

  it("leaves out lines below its level", () => {
    const { log, lines } = setUp("warn");
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    expect(lines).toHaveLength(2);
  });

  it("adds the fields of a child to each of its lines, and only to those", () => {
    const { log, last } = setUp();
    const run = log.child({ controller: "widgets" }).child({ run: "1f" });
    run.info("x");
    expect(last()).toMatchObject({ controller: "widgets", run: "1f" });
    log.info("y");
    expect(last()).not.toHaveProperty("run");
  });

  it("logs of an error its type, message, reason, code and the messages of all its causes", () => {
    const { log, last } = setUp();
    const refused = new Error("connect ECONNREFUSED 10.0.0.1:443");
    const cause = new ApiError("get secrets ns/x: no answer", {
      reason: "Unreachable",
      code: 0,
      cause: refused,
    });
    log.error("run failed", { error: new Error("step TokenReady failed", { cause }) });
    expect(last().error).toEqual({
      type: "Error",
      message: "step TokenReady failed",
      causes: ["get secrets ns/x: no answer", "connect ECONNREFUSED 10.0.0.1:443"],
    });
    log.error("run failed", { error: cause });
    expect(last().error).toMatchObject({ type: "ApiError", reason: "Unreachable", code: 0 });
  });

  it("logs all of several errors", () => {
    const { log, last } = setUp();
    log.error("x", { error: new AggregateError([new Error("one"), new Error("two")], "2 steps failed") });
    expect(last().error).toMatchObject({ message: "2 steps failed", causes: ["one", "two"] });
  });

  it("says where a bug is, and does not say it of failures of the outside world", () => {
    const { log, last } = setUp();
    log.error("x", { error: new TypeError("undefined is not a function") });
    expect(last().error.stack[0]).toMatch(/^at /);
    log.error("x", { error: new Error("connection refused") });
    expect(last().error).not.toHaveProperty("stack");
  });
});

describe("a secret that should not have been logged", () => {
  const leaks: [string, (log: ReturnType<typeof setUp>["log"]) => void][] = [
    ["as a field", (log) => log.info("x", { token: MARK })],
    ["as a field in another spelling", (log) => log.info("x", { "session-token": MARK, Api_Key: MARK })],
    [
      "deep in a field",
      (log) => log.info("x", { request: { headers: [{ Authorization: `Bearer ${MARK}` }] } }),
    ],
    ["in a Secret", (log) => log.info("x", { object: { kind: "Secret", data: { token: MARK } } })],
    ["in the password of a URL", (log) => log.info(`connecting to postgres://coder:${MARK}@db/coder`)],
    ["in a password with odd characters", (log) => log.info(`postgres://u:p@${MARK}:x@db:5432/coder`)],
    ["in a URL field", (log) => log.info("x", { url: `https://:${MARK}@host/path` })],
    ["in a header quoted in text", (log) => log.info(`sent authorization: Bearer ${MARK}`)],
    ["as a JWT", (log) => log.info("x", { license: `eyJhbGciOiJFZERTQSJ9.eyJtIjoi${MARK}.c2ln` })],
    ["in a child's fields", (log) => log.child({ password: MARK }).info("x")],
    [
      "in an error's message",
      (log) => log.error("x", { error: new Error(`postgres://u:${MARK}@db: refused`) }),
    ],
    [
      "in a cause's message",
      (log) => log.error("x", { error: new Error("x", { cause: new Error(`Bearer ${MARK}`) }) }),
    ],
    [
      "in an error's own fields",
      (log) => log.error("x", { error: Object.assign(new Error("x"), { body: MARK }) }),
    ],
    ["in text quoted by a parser", (log) => log.error("x", { error: parseError(MARK) })],
    [
      "as a thrown value that is not an error",
      (log) => log.error("x", { error: new Error("x", { cause: MARK }) }),
    ],
    [
      "inside an object of some class",
      (log) =>
        log.info("x", {
          client: new (class Client {
            token = MARK;
            inner = MARK;
          })(),
        }),
    ],
    ["in bytes", (log) => log.info("x", { payload: Buffer.from(MARK) })],
    ["in a map", (log) => log.info("x", { secrets: new Map([["a", MARK]]) })],
  ];

  it.each(leaks)("is not written if it is %s", (_, leak) => {
    const { log, lines } = setUp();
    leak(log);
    expect(lines).toHaveLength(1);
    expect(lines.join("")).not.toContain(MARK);
    expect(lines.join("")).not.toContain(Buffer.from(MARK).toString("base64"));
  });

  it("does not hide the names of secrets, which help", () => {
    const { log, last } = setUp();
    log.info("x", { secretName: "db-url", tokenSecretRef: { name: "t", key: "token" }, key: "ns/name" });
    expect(last()).toMatchObject({
      secretName: "db-url",
      tokenSecretRef: { name: "t", key: "token" },
      key: "ns/name",
    });
  });

  it("does not break the log when a field is cyclic or odd", () => {
    const { log, last } = setUp();
    const cyclic = { a: 1 };
    Object.assign(cyclic, { self: cyclic });
    log.info("x", { cyclic, big: 1n, when: new Date(0), never: new Date(Number.NaN), f: () => 1 });
    expect(last()).toMatchObject({ big: "1", when: "1970-01-01T00:00:00.000Z", never: "[invalid date]" });
  });
});

function parseError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}
