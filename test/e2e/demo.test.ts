import { expect, test } from "vitest";
import { Place } from "../support/demo.ts";
import { everyCoder } from "./support/binaries.ts";

const binaries = await everyCoder();

test.runIf(binaries)("the demo of the real Coder ends with 0 when all three kinds are ready", async () => {
  await using place = await Place.make();
  const demo = place.start("make", "--silent", "demo", "REAL=1", "ONCE=1");
  expect(await demo.ended, demo.output).toBe(0);
  const listed = demo.output.match(/^\S+\.coder\.com\/\S+ +True +Serving/gm);
  expect(listed).toHaveLength(3);
  expect(demo.output).toContain("v2.36.1");
  expect(await place.leftovers()).toEqual([]);
});
