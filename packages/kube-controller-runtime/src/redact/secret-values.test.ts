import { describe, expect, test } from "vitest";
import { Redactor } from "./redactor.ts";

const password = 'p"w\n&7xyz ü';

describe("a known secret is recognized", () => {
  test.each([
    ["as it is", password],
    ["in JSON", JSON.stringify(password).slice(1, -1)],
    ["in a URL", encodeURIComponent(password)],
    ["in base64", Buffer.from(password).toString("base64")],
    [
      "in base64 with a line end after it",
      Buffer.from(`${password}\n`).toString("base64").replace(/=+$/, ""),
    ],
  ])("%s", (_, written) => {
    const text = new Redactor({ secrets: [password] }).text(`a ${written} b`);
    expect(text).toMatch(/^a \[redacted\]\w{0,2}=* b$/);
  });

  test("completely, at any length, and up to the end of a truncated text", () => {
    const long = Array.from({ length: 2_000 }, (_, at) => `word${at}`).join("");
    const redactor = new Redactor({ secrets: [long] });
    expect(redactor.text(`${long}!`, Number.POSITIVE_INFINITY)).toBe("[redacted]!");
    expect(redactor.text(long.slice(0, 5_000))).toBe("[redacted]");
    expect(redactor.text(`${long}!`)).toBe("[redacted]…");
  });

  test("where a shorter one begins like it", () => {
    expect(new Redactor({ secrets: ["abcdef", "abcdefghij"] }).text("abcdefghij")).toBe("[redacted]");
  });

  test("among thousands that begin like it", () => {
    const secrets = Array.from({ length: 5_000 }, (_, at) => `-----BEGIN ${"x".repeat(at % 70)}${at}`);
    const text = `${secrets.join(" ")} -----BEGIN y`;
    expect(new Redactor({ secrets }).text(text, Number.POSITIVE_INFINITY)).toBe(
      `${secrets.map(() => "[redacted]").join(" ")} -----BEGIN y`,
    );
  });
});
