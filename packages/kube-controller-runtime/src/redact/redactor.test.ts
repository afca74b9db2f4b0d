import { describe, expect, it } from "vitest";
import { Dice } from "../../testing/dice.ts";
import { Redactor, recognizeTokens, redactText } from "./redactor.ts";
import { maskShapes } from "./shapes.ts";

/** As an application would register its tokens. */
recognizeTokens(/(?<!\w)\w{10}-\w{22}(?!\w)/g);

describe("a text", () => {
  it.each([
    ["dial postgres://coder:p%40ss@db:5432/coder?x=1 failed", "dial postgres://[redacted] failed"],
    ["postgres://u:p@ss:x@db/coder", "postgres://[redacted]"],
    ["postgres://u:p/ss@db/coder", "postgres://[redacted]"],
    ["http://a.example/,postgres://u:p@db", "http://[redacted]"],
    ["Bearer  abc.def, then", "Bearer  [redacted] then"],
    ["jwt (eyJhbGciOi.eyJqdGki.c2ln)!", "jwt ([redacted])!"],
    ["token-eyJhbGciOi.eyJqdGki.c2ln", "token-[redacted]"],
    ["token=abcdefghij-ABCDEFGHIJKLMNOPQRSTUV.", "token=[redacted]."],
  ])("loses the secret in %s", (text, expected) => {
    expect(redactText(text)).toBe(expected);
  });

  it.each([
    "https://coder.example.com:8443/path@sha256 answered",
    'pods "coder-7d8f9c6b5d-abcde" is forbidden',
    "image ghcr.io/coder/coder@sha256:abc",
    "eyJ is how a JWT begins",
    "the bearer",
  ])("is unchanged without a secret: %s", (text) => {
    expect(redactText(text)).toBe(text);
  });

  it.each([
    ["a JWT", "x eyJhbGciOi.eyJqdGki.c2ln", 10],
    ["the password of a URL", "x postgres://u:password@db/coder", 20],
  ])("loses %s where it is truncated", (_, text, limit) => {
    expect(redactText(text, limit)).toMatch(/^x (postgres:\/\/)?\[redacted\]…$/);
  });

  it("loses a known secret or a token of the application that the limit divides", () => {
    const [token, secret] = ["abcdefghij-ABCDEFGHIJKLMNOPQRSTUV", "hunter2".repeat(20)];
    const text = `${token} ${secret} ${"x".repeat(200)}`;
    for (let limit = 1; limit < 200; limit++)
      expect(new Redactor({ secrets: [secret] }).text(text, limit)).not.toMatch(/abcde|ABCDE|hunter/);
  });

  it("is not searched beyond the limit", () => {
    expect(redactText("x".repeat(5_000), 100)).toBe(`${"x".repeat(100)}…`);
    expect(maskShapes("x".repeat(1e7), { mark: "", limit: 100 }).charactersRead).toBeLessThan(2_000);
  });

  /** Each input was quadratic for the previous regular expressions, or may be for others. */
  const slow = [
    "a",
    "a:",
    "a://",
    "://@",
    "a://b:",
    "a://b/@",
    "-eyJ",
    "eyJ.",
    "bearer ",
    "\n",
    "@",
    "abcdefghij-",
  ];

  const read = (text: string) =>
    maskShapes(text, { mark: "", limit: Number.POSITIVE_INFINITY }).charactersRead;

  it.each(slow)("of four times as many %j takes four times the work", (piece) => {
    expect(read(piece.repeat(40_000))).toBeLessThanOrEqual(4 * read(piece.repeat(10_000)) + 100);
    expect(read(piece.repeat(40_000))).toBeLessThan(12 * piece.length * 40_000);
  });

  it("of random such pieces takes linear work", () => {
    const dice = new Dice(17);
    for (let index = 0; index < 200; index++) {
      const text = Array.from({ length: 1_000 }, () => dice.pick(slow)).join("");
      expect(read(text), text.slice(0, 40)).toBeLessThan(text.length * 12);
    }
  });
});

it("a secret is masked regardless of the text around it", () => {
  const secrets = [
    "abcdefghij-ABCDEFGHIJKLMNOPQRSTUV",
    "eyJhbGciOi.eyJqdGki.c2ln",
    "BEARER hunter2",
    "Pwd=hunter2",
    "passwd='hunter2'",
    "postgres://u:p@db",
  ];
  for (const secret of secrets) {
    for (const [before, after] of [
      ["", ""],
      ["(", ")"],
      ["a ", " b"],
      ["é", "é"],
    ] as const) {
      const masked = redactText(`${before}${secret}${after}`);
      expect(masked).toContain("[redacted]");
      expect(masked).not.toMatch(/hunter2|:p@|c2ln|ABCDEF/);
    }
  }
});

it.each([
  ["host=db user=coder password=hunter2 dbname=coder", "host=db user=coder password=[redacted] dbname=coder"],
  ["password='of two words' sslmode=disable", "password=[redacted] sslmode=disable"],
  ["user=a&PASSWD=hunter2&next=b", "user=a&PASSWD=[redacted]&next=b"],
])("a password of a connection string or a form is masked: %s", (text, masked) => {
  expect(redactText(text)).toBe(masked);
});
