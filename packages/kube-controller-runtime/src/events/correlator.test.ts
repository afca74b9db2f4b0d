import { describe, expect, it } from "vitest";
import { EventCorrelator, LruMap } from "./correlator.ts";

const occurrence = { type: "Warning", reason: "Failed", message: "m" } as const;

describe("EventCorrelator", () => {
  it("still counts a known message if its group is full", () => {
    const correlator = new EventCorrelator();
    const { series } = correlator.count("uid", occurrence, 0);
    for (let n = 0; n < 20; n++) correlator.count("uid", { ...occurrence, message: `${n}` }, 0);
    expect(correlator.count("uid", occurrence, 0)).toEqual({ series, message: "m" });
    expect(series.count).toBe(2);
  });

  it("keeps at most eleven series of one reason", () => {
    const correlator = new EventCorrelator();
    const ids = Array.from(
      { length: 1_000 },
      (_, n) => correlator.count("uid", { ...occurrence, message: `${n}` }, 0).series.id,
    );
    expect(new Set(ids).size).toBe(11);
  });

  it("gives an object its whole burst back after a long time, and no more when the clock is set back", () => {
    const correlator = new EventCorrelator();
    const burst = (now: number) => {
      let writes = 0;
      while (writes < 100 && correlator.mayWrite("uid", now)) writes++;
      return writes;
    };
    expect(burst(0)).toBe(25);
    expect(burst(299_999)).toBe(0);
    expect(burst(300_000)).toBe(1);
    expect(burst(1e9)).toBe(25);
    expect(burst(0)).toBe(0);
  });
});

describe("LruMap", () => {
  it("forgets what was unused for longest", () => {
    const map = new LruMap<string, number>(2);
    map.use("a", () => 1);
    map.use("b", () => 2);
    map.use("a", () => 3);
    map.use("c", () => 4);
    expect(map.use("a", () => 5)).toBe(1);
    expect(map.use("b", () => 6)).toBe(6);
  });
});
