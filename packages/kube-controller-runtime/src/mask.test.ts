import { describe, expect, it } from "vitest";
import { maskSecrets } from "./mask.ts";

const mask = (text: string, limit = 10_000) => maskSecrets(text, { mark: "***", limit }).text;

describe("masking", () => {
  it.each([
    ["dial postgres://coder:p%40ss@db:5432/coder?x=1 failed", "dial postgres://*** failed"],
    ["postgres://u:p@ss:x@db/coder", "postgres://***"],
    ["postgres://u:p/ss@db/coder", "postgres://***"],
    ["http://a.example/,postgres://u:p@db", "http://***"],
    ["Bearer  abc.def, then", "Bearer  *** then"],
    ["jwt (eyJhbGciOi.eyJqdGki.c2ln)!", "jwt (***)!"],
    ["token-eyJhbGciOi.eyJqdGki.c2ln", "token-***"],
    ["token=abcdefghij-ABCDEFGHIJKLMNOPQRSTUV.", "token=***."],
  ])("takes the secret out of %s", (text, expected) => {
    expect(mask(text)).toBe(expected);
  });

  it.each([
    "https://coder.example.com:8443/path@sha256 answered",
    'pods "coder-7d8f9c6b5d-abcde" is forbidden',
    "image ghcr.io/coder/coder@sha256:abc",
    "eyJ is how a JWT begins",
    "the bearer",
  ])("leaves %s as it is", (text) => {
    expect(mask(text)).toBe(text);
  });

  it.each([
    ["a session token", "x abcdefghij-ABCDEFGHIJKLMNOPQRSTUV", 20],
    ["a JWT", "x eyJhbGciOi.eyJqdGki.c2ln", 10],
    ["the password of a URL", "x postgres://u:password@db/coder", 20],
  ])("masks %s that the cut divides", (_, text, limit) => {
    expect(mask(text, limit)).toMatch(/^x (postgres:\/\/)?\*\*\*…$/);
  });

  it("looks at no more than the limit", () => {
    expect(mask("x".repeat(5_000), 100)).toBe(`${"x".repeat(100)}…`);
    expect(maskSecrets("x".repeat(1e7), { mark: "", limit: 100 }).charactersRead).toBeLessThan(2_000);
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

  it.each(slow)("reads four times as much for four times as many %j", (piece) => {
    const read = (times: number) =>
      maskSecrets(piece.repeat(times), { mark: "***", limit: Number.POSITIVE_INFINITY }).charactersRead;
    expect(read(40_000)).toBeLessThanOrEqual(4 * read(10_000) + 100);
    expect(read(40_000)).toBeLessThan(12 * piece.length * 40_000);
  });
});

it("masks a secret wherever it stands in a text", () => {
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
      const masked = mask(`${before}${secret}${after}`);
      expect(masked).toContain("***");
      expect(masked).not.toMatch(/hunter2|:p@|c2ln|ABCDEF/);
    }
  }
});

it.each([
  ["host=db user=coder password=hunter2 dbname=coder", "host=db user=coder password=*** dbname=coder"],
  ["password='of two words' sslmode=disable", "password=*** sslmode=disable"],
  ["user=a&PASSWD=hunter2&next=b", "user=a&PASSWD=***&next=b"],
])("a password of a connection string or a form is masked: %s", (text, masked) => {
  expect(maskSecrets(text, { mark: "***", limit: 100 }).text).toBe(masked);
});
