import fc from "fast-check";
import { expect, it } from "vitest";
import { type History, highestOf, remember } from "./pool.ts";

const WINDOW_MS = 100;
const steps = fc.array(fc.record({ afterMs: fc.nat(40), wanted: fc.nat(5) }), { minLength: 1 });

it("knows the highest number of the window, and remembers no more than it needs for that", () => {
  fc.assert(
    fc.property(steps, (all) => {
      let now = 0;
      let history: History = [];
      const everything: { at: number; wanted: number }[] = [];
      for (const { afterMs, wanted } of all) {
        now += afterMs;
        const entry = { at: now, wanted };
        everything.push(entry);
        history = remember(history, entry, WINDOW_MS);
        const recent = everything.filter(({ at }) => at > now - WINDOW_MS);
        expect(highestOf(history)).toBe(Math.max(...recent.map((each) => each.wanted)));
        expect(history.length).toBeLessThanOrEqual(6);
      }
    }),
  );
});
