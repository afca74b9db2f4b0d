import { describe, expect, it } from "vitest";
import { redact } from "./redact.ts";

describe("text from outside", () => {
  it("loses the secrets it is known to hold, trimmed or not", () => {
    expect(redact("bad value: hunter2 (hunter2)", [" hunter2\n"])).toBe("bad value: *** (***)");
  });

  it("loses anything shaped like a JWT, a session token or a URL with credentials", () => {
    expect(redact("jwt eyJhbGciOi.eyJqdGki.c2ln!")).toBe("jwt ***!");
    expect(redact("token abcdefghij-ABCDEFGHIJKLMNOPQRSTUV")).toBe("token ***");
    expect(redact("dial postgres://coder:p%40ss@db:5432/coder?x=1 failed")).toBe("dial *** failed");
  });

  it("is not emptied by an empty secret", () => {
    expect(redact("nothing to hide", ["", " "])).toBe("nothing to hide");
  });

  it("is cut to a length that fits a condition, on one line", () => {
    const text = redact(`first\nsecond ${"x".repeat(5_000)}`);
    expect(text).toMatch(/^first second x+…$/);
    expect(text.length).toBeLessThan(310);
  });
});
