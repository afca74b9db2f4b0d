import { expect, it } from "vitest";
import { type LabeledSubject, ObjectRegistry } from "./exposition.ts";
import type { ObjectGauge } from "./gauges.ts";

it("reads a bounded number of objects per turn of the event loop", async () => {
  let readSinceTurn = 0;
  let most = 0;
  const gauge: ObjectGauge = {
    name: "thing",
    help: "A thing.",
    read: () => {
      most = Math.max(most, ++readSinceTurn);
      return [{ value: 1 }];
    },
  };
  const subjects = Array.from({ length: 1_000 }, (_, index) => ({ labels: { name: `${index}` } }));
  const registry = new ObjectRegistry({
    prefix: "x_",
    labelNames: ["name"],
    gauges: [gauge, gauge],
    subjects: () => subjects as unknown as LabeledSubject[],
    turn: async () => {
      readSinceTurn = 0;
    },
  });
  expect((await registry.metrics()).match(/^x_thing\{/gm)).toHaveLength(2_000);
  expect(most).toBe(100);
});
