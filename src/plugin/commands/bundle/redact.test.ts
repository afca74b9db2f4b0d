import { describe, expect, test } from "vitest";
import { Redactor } from "./redact.ts";

const password = 'p"w\n&7xyz ü';

describe("a secret is recognized", () => {
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
    const text = new Redactor([password]).text(`a ${written} b`);
    expect(text).toMatch(/^a \[redacted\]\w{0,2}=* b$/);
  });

  test("to its end, however long it is, and as far as the text goes where it is cut", () => {
    const long = Array.from({ length: 2_000 }, (_, at) => `word${at}`).join("");
    const redactor = new Redactor([long]);
    expect(redactor.text(`${long}!`)).toBe("[redacted]!");
    expect(redactor.text(`${long.slice(0, 5_000)}`)).toBe("[redacted]");
  });

  test("where a shorter one begins like it", () => {
    expect(new Redactor(["abcdef", "abcdefghij"]).text("abcdefghij")).toBe("[redacted]");
  });

  test("among thousands that begin like it", () => {
    const secrets = Array.from({ length: 5_000 }, (_, at) => `-----BEGIN ${"x".repeat(at % 70)}${at}`);
    expect(new Redactor(secrets).text(`${secrets.join(" ")} -----BEGIN y`)).toBe(
      `${secrets.map(() => "[redacted]").join(" ")} -----BEGIN y`,
    );
  });
});
