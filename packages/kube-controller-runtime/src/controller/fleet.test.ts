import { describe, expect, test } from "vitest";
import { type ManagerUnderTest, Parent, runManager } from "../../test/support/manager-under-test.ts";
import type { Fault } from "../../testing/faulty-transport.ts";
import type { Clock } from "../clock.ts";
import { ConfigMap } from "../kinds.ts";
import { keyOf, type ObjectKey, refOfKey } from "../object.ts";
import { awaitChange } from "../queue/action.ts";
import { controller, type RunContext } from "./controller.ts";

const SIZE = 150;
const CHILDREN = ["a", "b", "c", "d", "e", "f", "g"];
const POD_START_MS = 100;
/** The capacity of a small API server. */
const SERVER = { requestMs: 5, atOnce: 1 };

/** One write: the object and the time. */
interface Write {
  readonly key: ObjectKey;
  readonly what: "accepted" | "child" | "done";
  readonly at: number;
}

/** A server that takes time for every request, and handles them in order. */
function busy(clock: Clock, { requestMs, atOnce }: typeof SERVER): Fault {
  const free = Array<number>(atOnce).fill(0);
  return async (request, pass) => {
    if (request.streaming) return pass();
    const line = free.indexOf(Math.min(...free));
    const begins = Math.max(free[line] ?? 0, clock.monotonic());
    free[line] = begins + requestMs;
    await clock.sleep(begins + requestMs - clock.monotonic(), request.signal);
    return pass();
  };
}

/** Accepts an object, creates its children, waits for its pod, and reports that it is done. */
async function setUp(): Promise<ManagerUnderTest & { readonly writes: Write[] }> {
  const writes: Write[] = [];
  const ready = new Set<ObjectKey>();
  const note = (key: ObjectKey, what: Write["what"], { clock }: Pick<RunContext, "clock">) =>
    writes.push({ key, what, at: clock.monotonic() });
  const parents = controller("parent")
    .for(Parent)
    .accepts(
      ({ status }) => status === undefined,
      async ({ metadata }, context) => {
        const key = keyOf(metadata);
        await context.client.patchStatus(Parent, metadata, { status: { seen: "yes" } });
        note(key, "accepted", context);
      },
    )
    .watches(ConfigMap, ({ metadata }) => (metadata.labels?.pod ? [`n/${metadata.labels.pod}`] : []))
    .reconcile(async (key, context) => {
      const { client, clock } = context;
      const { name } = refOfKey(key);
      if (writes.filter((write) => write.key === key).length === 1) {
        for (const child of CHILDREN) {
          await client.apply(ConfigMap, { metadata: { namespace: "n", name: `${name}-${child}` } });
          note(key, "child", context);
        }
        clock.setTimer(() => {
          ready.add(key);
          void world.person.create(ConfigMap, {
            metadata: { namespace: "n", name: `${name}-pod`, labels: { pod: name } },
          });
        }, POD_START_MS);
      } else if (ready.has(key) && !writes.some((write) => write.key === key && write.what === "done")) {
        await client.patchStatus(Parent, refOfKey(key), { status: { seen: "done" } });
        note(key, "done", context);
      }
      return awaitChange;
    });
  const world = await runManager([parents], { concurrency: 50 });
  world.transport.fault = busy(world.clock, SERVER);
  return Object.assign(world, { writes });
}

async function create({ person }: ManagerUnderTest, name: string): Promise<void> {
  await person.create(Parent, { metadata: { namespace: "n", name } });
}

describe("of a fleet that is made at once", () => {
  test("every object is accepted before any has its second write, and half is done long before all is", async () => {
    const world = await setUp();
    for (let index = 0; index < SIZE; index++) await create(world, `p${index}`);
    await world.clock.advance(60_000);
    const accepted = world.writes.findLastIndex(({ what }) => what === "accepted");
    const second = world.writes.findIndex(({ what }) => what === "child");
    expect(world.writes.filter(({ what }) => what === "done")).toHaveLength(SIZE);
    expect(accepted).toBe(SIZE - 1);
    expect(second).toBe(SIZE);
    const times = world.writes.filter(({ what }) => what === "done").map(({ at }) => at);
    const [median = Number.NaN, last = Number.NaN] = [times[SIZE / 2 - 1], times.at(-1)];
    expect(median / last).toBeLessThan(0.6);
    // Without extra cost: the server is never idle.
    const requests = SIZE * (CHILDREN.length + 2);
    expect(last).toBeLessThan(requests * SERVER.requestMs * 1.1 + POD_START_MS);
  });

  test("one that is created later is accepted within a second, while the others are reconciled", async () => {
    const world = await setUp();
    for (let index = 0; index < SIZE; index++) await create(world, `p${index}`);
    await world.clock.advance(1_500);
    expect(world.writes.some(({ what }) => what === "done")).toBe(true);
    expect(world.writes.filter(({ what }) => what === "done").length).toBeLessThan(SIZE);
    await create(world, "late");
    await world.clock.advance(1_000);
    expect(world.writes).toContainEqual(expect.objectContaining({ key: "n/late", what: "accepted" }));
  });
});
