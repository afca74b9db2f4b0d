import { expect, test } from "vitest";
import { eventually } from "./eventually.ts";

test("resolves with the value of the first assertion that succeeds", async () => {
  let attempts = 0;
  const third = () => {
    if (++attempts < 3) throw new Error("not yet");
    return attempts;
  };
  expect(await eventually(third, { withinMs: 10_000 })).toBe(3);
});

test("rejects with the last failure when time is up", async () => {
  let attempts = 0;
  const never = async () => {
    throw new Error(`attempt ${++attempts}`);
  };
  await expect(eventually(never, { withinMs: 60 })).rejects.toThrow(/^attempt [1-9]/);
});

test("does not wait for an assertion that hangs", async () => {
  await expect(eventually(() => new Promise(() => {}), { withinMs: 30 })).rejects.toThrow(
    "did not finish within 30 ms",
  );
});
