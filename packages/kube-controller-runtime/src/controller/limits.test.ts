import { expect, test } from "vitest";
import { Parent, runManager } from "../../test/support/manager-under-test.ts";
import { ConfigMap } from "../kinds.ts";
import { awaitChange } from "../queue/action.ts";
import { controller, type RunLimits } from "./controller.ts";

const names = ["a", "b", "c", "d"];

/** A controller whose runs end when the test says so, with a record of them. */
function heldController(limits: RunLimits) {
  const running = new Set<string>();
  const ends = new Map<string, () => void>();
  let most = 0;
  const held = controller("held")
    .for(Parent)
    .limits(limits)
    .reconcile(async (key) => {
      running.add(key);
      most = Math.max(most, running.size);
      await new Promise<void>((resolve) => ends.set(key, resolve));
      running.delete(key);
      return awaitChange;
    });
  return { held, running, end: (key: string) => ends.get(key)?.(), most: () => most };
}

test("the concurrency of a controller overrides that of the manager", async () => {
  const { held, running, end, most } = heldController({ concurrency: 2 });
  const { person, clock } = await runManager([held], { concurrency: 4 });
  for (const name of names) await person.create(Parent, { metadata: { namespace: "n", name } });
  await clock.advance(1_000);
  expect(running.size).toBe(2);
  for (const key of [...running]) end(key);
  await clock.advance(1_000);
  expect(most()).toBe(2);
  for (const key of [...running]) end(key);
});

test("a failed key waits as its controller's backoff says", async () => {
  const runs: number[] = [];
  const failing = controller("failing")
    .for(Parent)
    .limits({ backoff: { baseMs: 10_000, capMs: 20_000 } })
    .reconcile(async (_, { clock }) => {
      runs.push(clock.monotonic());
      throw new Error("not today");
    });
  const { person, clock } = await runManager([failing]);
  await person.create(Parent, { metadata: { namespace: "n", name: "a" } });
  await clock.advance(60_000);
  const waits = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
  expect(waits).toEqual([7_500, 15_000, 15_000, 15_000]);
});

test("a run that exceeds its timeout is aborted, can't write any more, and is tried again", async () => {
  const refusals: unknown[] = [];
  let runs = 0;
  const slow = controller("slow")
    .for(Parent)
    .owns([ConfigMap])
    .limits({ timeoutMs: 5_000 })
    .reconcile(async (key, { signal, client, children, caches }) => {
      if (++runs > 1) return awaitChange;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      const object = caches.of(Parent).get(key);
      if (!object) throw new Error("the object is gone");
      const child = { metadata: { namespace: "n", name: "late" } };
      const attempts = [
        client.create(ConfigMap, child),
        children.apply(ConfigMap, child, { kind: Parent, object, labels: {} }),
      ];
      for (const { status, ...outcome } of await Promise.allSettled(attempts))
        refusals.push(status === "rejected" && "reason" in outcome ? outcome.reason : "written");
      throw refusals[0];
    });
  const { person, clock, log, requests } = await runManager([slow]);
  await person.create(Parent, { metadata: { namespace: "n", name: "a" } });
  requests();
  await clock.advance(4_999);
  expect(refusals).toEqual([]);
  await clock.advance(1_000);
  expect(refusals).toHaveLength(2);
  for (const refusal of refusals) expect(refusal).toMatchObject({ name: "RunTimeoutError" });
  expect(requests()).toEqual([]);
  expect(runs).toBe(2);
  const failure = log.find(({ level }) => level === "error");
  expect(failure?.fields.error).toMatchObject({ message: "the run did not finish within 5000 ms" });
});

test("a key whose run ignores its timeout is never run twice at once", async () => {
  const { held, running, end, most } = heldController({ timeoutMs: 1_000 });
  const { person, clock, log } = await runManager([held]);
  await person.create(Parent, { metadata: { namespace: "n", name: "a" } });
  await clock.advance(10_000);
  await person.mergePatch(Parent, { namespace: "n", name: "a" }, { spec: { text: "changed" } });
  await clock.advance(10_000);
  expect([...running]).toEqual(["n/a"]);
  expect(log.map(({ message }) => message)).toContain("run exceeded its timeout; its writes are rejected");
  end("n/a");
  await clock.advance(1_000);
  expect([...running]).toEqual(["n/a"]);
  expect(most()).toBe(1);
  end("n/a");
});
