import { describe, expect, test } from "vitest";
import { Place } from "../support/demo.ts";

const BOUND_MS = 150_000;

describe.concurrent("the demo", { timeout: BOUND_MS }, () => {
  test("ends with 0 when all three kinds are ready, and leaves nothing behind", async () => {
    await using place = await Place.make();
    const demo = place.start("make", "--silent", "demo", "ONCE=1");
    expect(await demo.ended, demo.output).toBe(0);
    const listed = demo.output
      .match(/^\S+\.coder\.com\/\S+ +True +Serving/gm)
      ?.map((line) => line.split(" ")[0]);
    expect(listed).toEqual([
      "codercontrolplane.coder.com/coder",
      "coderprovisioner.coder.com/linux",
      "coderworkspaceproxy.coder.com/sydney",
    ]);
    expect(demo.output).toContain("daemons 2 · proxies sydney (ok)");
    expect(await place.leftovers()).toEqual([]);
  });

  test("ends with 1 when something fails, and says what", async () => {
    await using place = await Place.make();
    const demo = place.start(process.execPath, "demo/main.ts", "--within", "soon");
    expect(await demo.ended, demo.output).toBe(1);
    expect(demo.output).toBe("demo: --within needs a number of seconds\n");
  });

  test("that is stopped while it starts leaves nothing behind", async () => {
    await using place = await Place.make();
    const demo = place.start(process.execPath, "demo/main.ts");
    await demo.untilPrinted("Kubernetes");
    demo.signal("SIGTERM");
    expect(await demo.ended, demo.output).toBe(0);
    expect(await place.leftovers()).toEqual([]);
  });
});
