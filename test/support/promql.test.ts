import { expect, test } from "vitest";
import { parseQuery } from "./promql.ts";

test("a query is taken apart into metrics, the labels that choose and the labels that group", () => {
  const query = 'sum by (a) (rate(x_total{b="1",c!~"2"}[5m])) and on (d) y == 1 unless z';
  expect(parseQuery(query)).toEqual({
    selectors: [
      { metric: "x_total", labels: ["b", "c"] },
      { metric: "y", labels: [] },
      { metric: "z", labels: [] },
    ],
    grouping: ["a", "d"],
  });
});

test.for(["sum by (a (x)", "rate(x[5m)", 'x{a="1"', "x ==", "sum(x) by by (a)", "nosuchfunction(x)", ""])(
  "%j is refused",
  (query) => {
    expect(() => parseQuery(query)).toThrow(SyntaxError);
  },
);
