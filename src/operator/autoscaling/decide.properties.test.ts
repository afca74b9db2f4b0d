import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { daemon, NOW, poolWithDaemons, seen, waiting } from "../../../test/support/queue.ts";
import { daemonTags, matchesTags } from "../../coder/tags.ts";
import { decide } from "./decide.ts";
import type { Pool } from "./pool.ts";

const tags = fc.dictionary(fc.constantFrom("env", "gpu"), fc.constantFrom("a", "b"), {
  noNullPrototype: true,
});

const limits = fc
  .record({ a: fc.nat(8), b: fc.nat(8), minIdle: fc.nat(3), priority: fc.nat(2), delay: fc.nat(600_000) })
  .map(({ a, b, minIdle, priority, delay }) => ({
    ...{ min: Math.min(a, b), max: Math.max(a, b), minIdle, priority, scaleDownDelayMs: delay },
  }));

const circumstances = fc.record({
  isRollingOut: fc.boolean(),
  isKeptWarm: fc.boolean(),
  fallback: fc.option(fc.nat(10), { nil: undefined }),
  history: fc.constantFrom([], [{ at: NOW - 100_000, wanted: 3 }], [{ at: NOW - 1_000, wanted: 9 }]),
});

const crew = fc.string({ unit: fc.constantFrom(..."biioswBI"), maxLength: 9 });

const fixtures = fc.array(fc.tuple(crew, tags, limits, circumstances), { maxLength: 5 }).map((all) =>
  all.map(([letters, ownTags, limit, rest], index) => ({
    crew: letters,
    ...poolWithDaemons(letters, { name: `pool-${index}`, tags: ownTags, ...limit, ...rest }),
  })),
);

const jobs = fc
  .array(fc.tuple(tags, fc.nat(20), fc.constantFrom("pending", "running", "canceling")), { maxLength: 30 })
  .map((all) =>
    all.flatMap(([asked, queuePosition, status], index) =>
      waiting(1, asked, { id: `job-${index}`, queuePosition, status }),
    ),
  );

const others = fc
  .array(fc.tuple(tags, fc.constantFrom("idle", "busy", "offline")), { maxLength: 4 })
  .map((all) =>
    all.map(([offered, status], index) => daemon(`o-${index}`, status, { tags: daemonTags(offered) })),
  );

const letters = (text: string, ...wanted: string[]) =>
  [...text].filter((letter) => wanted.includes(letter)).length;

describe("for any queue and pools", () => {
  it("no pool leaves its limits once it is within them", () => {
    fc.assert(
      fc.property(fixtures, jobs, fc.boolean(), (all, queued, isSeen) => {
        const observation = isSeen ? seen(all, queued) : { seen: false as const, since: 0 };
        const inside = all.map(({ pool }) => ({
          ...pool,
          replicas: Math.min(Math.max(pool.replicas, pool.min), pool.max),
        }));
        for (const { pool, replicas } of decide(inside, observation, NOW).decisions) {
          expect(replicas).toBeGreaterThanOrEqual(pool.min);
          expect(replicas).toBeLessThanOrEqual(pool.max);
        }
      }),
    );
  });

  it("no pool gives up more than what has no job for certain", () => {
    fc.assert(
      fc.property(fixtures, jobs, others, (all, queued, strangers) => {
        const { decisions } = decide(
          all.map(({ pool }) => pool),
          seen(all, queued, strangers),
          NOW,
        );
        for (const [index, { pool, replicas }] of decisions.entries())
          expect(pool.replicas - replicas).toBeLessThanOrEqual(letters(all[index]?.crew ?? "", "i", "w"));
      }),
    );
  });

  it("no pool gives up anything during a rollout", () => {
    fc.assert(
      fc.property(fixtures, jobs, (all, queued) => {
        const rolling = all.map(({ pool }) => ({ ...pool, isRollingOut: true }));
        for (const { pool, replicas } of decide(rolling, seen(all, queued), NOW).decisions)
          expect(replicas).toBeGreaterThanOrEqual(pool.replicas);
      }),
    );
  });

  it("each waiting job is assigned once, and only to a matching pool", () => {
    fc.assert(
      fc.property(fixtures, jobs, others, (all, queued, strangers) => {
        const pools = all.map(({ pool }) => pool);
        const { decisions, assignments } = decide(pools, seen(all, queued, strangers), NOW);
        const pending = queued.filter(({ status }) => status === "pending");
        expect(assignments.map(({ job }) => job.id).sort()).toEqual(pending.map(({ id }) => id).sort());
        for (const each of assignments) {
          if (each.to === "pool") expect(matchesTags(each.pool.tags, each.job.tags)).toBe(true);
          if (each.to === "none")
            expect(pools.some((pool) => matchesTags(pool.tags, each.job.tags))).toBe(false);
        }
        const given = decisions.reduce((sum, decision) => sum + decision.pending, 0);
        expect(given).toBe(assignments.filter(({ to }) => to === "pool").length);
      }),
    );
  });

  it("neither the order of the pools nor that of coderd's lists matters", () => {
    fc.assert(
      fc.property(fixtures, jobs, others, (all, queued, strangers) => {
        const numbers = (pools: Pool[], observation: ReturnType<typeof seen>) =>
          Object.fromEntries(
            decide(pools, observation, NOW).decisions.map(({ pool, ...rest }) => [pool.name, rest]),
          );
        const pools = all.map(({ pool }) => pool);
        const observation = seen(all, queued, strangers);
        const { jobs: listed, daemons } = observation.queue;
        const reversed = { ...observation.queue, jobs: listed.toReversed(), daemons: daemons.toReversed() };
        expect(numbers(pools.toReversed(), { seen: true, queue: reversed })).toEqual(
          numbers(pools, observation),
        );
      }),
    );
  });
});
