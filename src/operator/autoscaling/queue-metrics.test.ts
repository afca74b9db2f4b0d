import { expect, it } from "vitest";
import { NOW, poolWithDaemons, seen, waiting } from "../../../test/support/queue.ts";
import { decide } from "./decide.ts";
import { numbersOf, sumNumbers } from "./queue-metrics.ts";

const tags = { env: "prod" };

it("the numbers of a queue report what waits for which pool since when, what for none, and what daemons do", () => {
  const fixtures = [
    poolWithDaemons("bbiswB", { tags, max: 3, minIdle: 1 }),
    poolWithDaemons("", { name: "idle" }),
  ];
  const jobs = [
    ...waiting(1, tags, { id: "new", createdAt: NOW - 1_000 }),
    ...waiting(1, tags, { id: "old", createdAt: NOW - 9_000 }),
    ...waiting(1, { gpu: "a" }, { createdAt: NOW - 20_000 }),
  ];
  const pools = fixtures.map(({ pool }) => pool);
  expect(numbersOf(decide(pools, seen(fixtures, jobs), NOW))).toEqual({
    totals: { pending: 3, oldestAt: NOW - 20_000, unmatched: 1 },
    pools: new Map([
      ["pool", { pending: 2, oldestAt: NOW - 9_000, wanted: 5, busy: 2, idle: 1, starting: 2, draining: 1 }],
      ["idle", { pending: 0, oldestAt: undefined, wanted: 0, busy: 0, idle: 0, starting: 0, draining: 0 }],
    ]),
  });
});

it("while coderd does not answer there are no numbers of a pool", () => {
  const { pools } = numbersOf(decide([poolWithDaemons("b").pool], { seen: false, since: NOW }, NOW));
  expect(pools.size).toBe(0);
});

it("totals of several organizations are summed, and unknown while one of them is", () => {
  const one = { totals: { pending: 2, oldestAt: 7, unmatched: 1 }, pools: new Map() };
  const other = { totals: { pending: 3, oldestAt: 5, unmatched: 0 }, pools: new Map() };
  const idle = { totals: { pending: 0, oldestAt: undefined, unmatched: 0 }, pools: new Map() };
  expect(sumNumbers([one, other, idle]).totals).toEqual({ pending: 5, oldestAt: 5, unmatched: 1 });
  expect(sumNumbers([one, undefined]).totals).toBeUndefined();
  expect(sumNumbers([idle]).totals).toEqual(idle.totals);
});
