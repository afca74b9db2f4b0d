import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { between, PAGE, PICTURES } from "../../bench/queue/page.ts";
import { report, SEED } from "../../bench/queue/report.ts";
import { simulateDay } from "./day.ts";
import { loads } from "./loads.ts";

const following = { name: "follows", min: 0, max: 20, minIdle: 0 };

describe.each([1, 2, 3])("on every simulated day, with seed %i, a pool that follows the queue", (seed) => {
  it.each(loads(seed))("serves everybody, and busy daemons are hardly ever taken away: $title", (load) => {
    const { waits, reaped, drained, curve } = simulateDay(load, following, seed);
    expect(waits).toHaveLength(load.builds.filter(({ isPrebuild }) => !isPrebuild).length);
    expect(reaped).toBe(0);
    expect(drained).toBeLessThan(load.builds.length / 50);
    expect(Math.max(...curve.map(({ daemons }) => daemons))).toBeGreaterThan(5);
    expect(curve.at(-1)?.daemons).toBeLessThan(5);
  });
});

it("people wait no longer than a look and the start of a pod while the maximum is not reached", () => {
  const [monday] = loads(1);
  const { waits } = simulateDay(monday ?? expect.fail(), { ...following, max: 100 }, 1);
  expect(Math.max(...waits)).toBeLessThanOrEqual(15 + 2 + 15);
});

it("the published figures and curves are those of this code: otherwise run `make simulate-queue`", async () => {
  const { markdown, pictures } = report(SEED);
  let published = "";
  between(await readFile(PAGE, "utf8"), (present) => {
    published = present;
    return present;
  });
  expect(published).toBe(markdown);
  for (const [name, svg] of pictures) expect(await readFile(new URL(name, PICTURES), "utf8")).toBe(svg);
});
