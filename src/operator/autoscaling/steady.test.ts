import fc from "fast-check";
import { expect, it } from "vitest";
import { daemon, NOW, poolWithDaemons, waiting } from "../../../test/support/queue.ts";
import type { Tags } from "../../coder/provisioning.ts";
import { matchesTags } from "../../coder/tags.ts";
import { decide } from "./decide.ts";
import type { Pool } from "./pool.ts";

const POLL_MS = 15_000;

/** A cluster in which pods start and stop between two polls, and builds never end. */
interface World {
  pools: Pool[];
  /** The pod of each assigned job. */
  readonly builders: Map<string, string>;
  readonly jobs: ReturnType<typeof waiting>;
}

function handOut({ pools, builders, jobs }: World): void {
  const busy = new Set(builders.values());
  for (const job of jobs.filter(({ id }) => !builders.has(id))) {
    const able = pools.filter(({ tags }) => matchesTags(tags, job.tags)).flatMap(({ pods }) => pods);
    const free = able.find(({ name }) => !busy.has(name));
    if (!free) continue;
    builders.set(job.id, free.name);
    busy.add(free.name);
  }
}

function look({ pools, builders, jobs }: World, now: number) {
  const busy = new Set(builders.values());
  const daemons = pools.flatMap(({ pods, tags, keyIds: [keyId = ""] }) =>
    pods.map(({ name }) => daemon(name, busy.has(name) ? "busy" : "idle", { tags, keyId })),
  );
  const listed = jobs.map((job) => (builders.has(job.id) ? { ...job, status: "running" } : job));
  return decide(pools, { seen: true, queue: { jobs: listed, daemons, isCut: false } }, now).decisions;
}

function follow(world: World, now: number): number[] {
  handOut(world);
  const busy = new Set(world.builders.values());
  world.pools = look(world, now).map(({ pool, replicas, history }) => {
    const missing = Math.max(replicas - pool.pods.length, 0);
    const born = Array.from({ length: missing }, (_, index) => ({
      ...{ name: `${pool.name}-${now}-${index}`, isTerminating: false, isReady: true, startedAt: now },
    }));
    const byWork = pool.pods.toSorted((a, b) => Number(busy.has(b.name)) - Number(busy.has(a.name)));
    return { ...pool, replicas, history, pods: [...byWork.slice(0, replicas), ...born] };
  });
  return world.pools.map(({ replicas }) => replicas);
}

const tags = fc.dictionary(fc.constantFrom("env", "gpu"), fc.constantFrom("a", "b"), {
  noNullPrototype: true,
});
const pool = fc.record({ tags, min: fc.nat(3), more: fc.nat(8), minIdle: fc.nat(2), priority: fc.nat(1) });
const load = fc.array(fc.tuple(fc.nat(6), tags), { maxLength: 4 });

function worldOf(
  pools: { tags: Tags; min: number; more: number; minIdle: number; priority: number }[],
): World {
  const made = pools.map(({ more, ...rest }, index) => ({
    ...poolWithDaemons("", { name: `pool-${index}`, ...rest, max: rest.min + more, scaleDownDelayMs: 60_000 })
      .pool,
  }));
  return { pools: made, builders: new Map(), jobs: [] };
}

it("under a constant load every pool finds its number and keeps it, and no build is killed", () => {
  fc.assert(
    fc.property(fc.array(pool, { maxLength: 4 }), load, (pools, parts) => {
      const jobs = parts.flatMap(([count, asked], part) =>
        waiting(count, asked).map((job) => ({ ...job, id: `${part}-${job.id}` })),
      );
      const world = { ...worldOf(pools), jobs };
      const numbers = Array.from({ length: 40 }, (_, turn) => follow(world, NOW + turn * POLL_MS));
      for (const later of numbers.slice(20)) expect(later).toEqual(numbers[20]);
      const alive = new Set(world.pools.flatMap(({ pods }) => pods.map(({ name }) => name)));
      expect([...world.builders.values()].filter((builder) => !alive.has(builder))).toEqual([]);
    }),
  );
});
