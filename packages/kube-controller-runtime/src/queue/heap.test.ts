import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Heap } from "./heap.ts";

interface Item {
  readonly rank: number;
}

const operation = fc.oneof(
  fc.record({ do: fc.constant("push" as const), rank: fc.integer({ min: 0, max: 20 }) }),
  fc.record({ do: fc.constant("shift" as const) }),
  fc.record({ do: fc.constant("delete" as const), pick: fc.nat() }),
);

describe("Heap", () => {
  it("always returns the smallest item first", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const heap = new Heap<Item>((a, b) => a.rank - b.rank);
        const model = new Set<Item>();
        for (const step of operations) {
          const item =
            step.do === "push"
              ? { rank: step.rank }
              : [...model][("pick" in step ? step.pick : 0) % model.size];
          if (step.do === "push" && item) {
            heap.push(item);
            model.add(item);
          } else if (step.do === "delete" && item) {
            heap.delete(item);
            model.delete(item);
          } else if (step.do === "shift") {
            const first = heap.shift();
            if (first) model.delete(first);
          }
          expect(heap.size).toBe(model.size);
          expect(heap.first?.rank).toBe(
            model.size ? Math.min(...[...model].map((each) => each.rank)) : undefined,
          );
        }
      }),
    );
  });

  it("ignores the deletion of an item it does not hold", () => {
    const heap = new Heap<Item>((a, b) => a.rank - b.rank);
    heap.push({ rank: 1 });
    heap.delete({ rank: 1 });
    expect(heap.size).toBe(1);
  });
});
