import { describe, expect, it } from "vitest";
import { redact } from "./redact.ts";

describe("text from outside", () => {
  it("loses the secrets it is known to hold, trimmed or not", () => {
    expect(redact("bad value: hunter2 (hunter2)", [" hunter2\n"])).toBe("bad value: [redacted] ([redacted])");
  });

  it("loses anything shaped like a JWT, a session token or a URL with credentials", () => {
    expect(redact("jwt eyJhbGciOi.eyJqdGki.c2ln!")).toBe("jwt [redacted]!");
    expect(redact("token abcdefghij-ABCDEFGHIJKLMNOPQRSTUV")).toBe("token [redacted]");
    expect(redact("dial postgres://coder:p%40ss@db:5432/coder?x=1 failed")).toBe(
      "dial postgres://[redacted] failed",
    );
  });

  it("is not emptied by an empty secret", () => {
    expect(redact("nothing to hide", ["", " "])).toBe("nothing to hide");
  });

  it("loses a known secret that ends beyond what is read", () => {
    const secret = "sekret ".repeat(2_000);
    const shown = redact(`${"\n".repeat(4_000)}quoted: ${secret}`, [secret]);
    expect(shown).not.toContain("sekret");
  });

  it("does not show the beginning of a known secret that is cut off", () => {
    const secret = "sekret-of-one-hundred-characters-".padEnd(100, "x");
    const shown = redact(`${`${secret} `.repeat(41)}${secret}`, [secret]);
    expect(shown).not.toContain("sekret");
  });

  it("of many megabytes is not searched beyond what may be shown", () => {
    let read = 0;
    const slice = (from: number, to: number) => {
      read = to - from;
      return "a".repeat(read);
    };
    redact({ length: 8e6, slice } as unknown as string);
    expect(read).toBeLessThan(5_000);
  });

  it("is cut to a length that fits a condition, on one line", () => {
    const text = redact(`first\nsecond ${"x".repeat(5_000)}`);
    expect(text).toMatch(/^first second x+…$/);
    expect(text.length).toBeLessThan(310);
  });
});
