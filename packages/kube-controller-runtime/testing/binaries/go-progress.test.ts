import { describe, expect, test } from "vitest";
import { GoProgress } from "./go-progress.ts";

/** A build that has compiled this many packages, one per second. */
function compiled(packages: number, total?: number): GoProgress {
  const progress = new GoProgress();
  progress.total = total;
  for (let index = 0; index < packages; index += 1)
    progress.add(`example.com/package${index}`, index * 1_000);
  return progress;
}

describe("the progress of a build", () => {
  test("is the modules that were downloaded before anything is compiled", () => {
    const progress = new GoProgress();
    progress.add("go: downloading example.com/module v1.0.0");
    expect(progress.summary(0)).toBe("1 modules downloaded");
  });

  test("shows the progress and the remaining time", () => {
    expect(compiled(60, 180).summary(60_000)).toBe("60 of 180 packages compiled, about 2m0s left");
  });

  test("guesses no time from the first packages alone", () => {
    expect(compiled(10, 180).summary(10_000)).toBe("10 of 180 packages compiled");
  });

  test("says that it links when everything is compiled", () => {
    expect(compiled(40, 40).summary(50_000)).toBe("40 of 40 packages compiled, linking");
  });

  test("counts packages if their total is unknown or wrong", () => {
    expect(compiled(40).summary(40_000)).toBe("40 packages compiled");
    expect(compiled(40, 30).summary(40_000)).toBe("40 packages compiled");
  });

  test("keeps other output: the last lines of an error", () => {
    const progress = compiled(1);
    progress.add("a.go:1:1: syntax error");
    expect(progress.lastLines()).toBe("a.go:1:1: syntax error");
  });
});
