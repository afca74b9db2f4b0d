import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { chart } from "../../bench/trace/chart.ts";
import { DRAWN_MS, PICTURE, type Trace, tracePair } from "../../bench/trace/pair.ts";

/** After its first status an object is queued again, with this delay. */
const QUEUED_MS = 10;

/** The milliseconds until both objects are Ready in which no request was under way. */
function idleMs({ spans, readyAt }: Trace): number {
  let [idle, busyUntil] = [0, 0];
  for (const { side, from, to } of spans) {
    if (side === "run") continue;
    idle += Math.max(from - busyUntil, 0);
    busyUntil = Math.max(busyUntil, to);
  }
  return idle + Math.max(Math.max(...Object.values(readyAt)) - busyUntil, 0);
}

test.each([0, DRAWN_MS])(
  "from apply to Ready nothing waits but for an answer, with coderd at %i ms",
  async (coderdMs) => {
    expect(idleMs(await tracePair(coderdMs))).toBeLessThanOrEqual(QUEUED_MS);
  },
);

test("seven answers of coderd follow one another, three of them before the control plane is Ready", async () => {
  const { readyAt } = await tracePair(DRAWN_MS);
  const { readyAt: atOnce } = await tracePair(0);
  expect((readyAt.coder - atOnce.coder) / DRAWN_MS).toBe(3);
  expect((readyAt.pool - atOnce.pool) / DRAWN_MS).toBeLessThan(7);
});

test("the published picture is that of this code: otherwise run `make bench TRACE=1`", async () => {
  expect(await readFile(PICTURE, "utf8")).toBe(chart(await tracePair(DRAWN_MS)));
});
