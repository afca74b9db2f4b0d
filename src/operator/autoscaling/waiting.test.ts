import { describe, expect, it } from "vitest";
import { daemon, NOW, poolWithDaemons, seen, waiting } from "../../../test/support/queue.ts";
import { decide } from "./decide.ts";
import { explainDecision, explainWaiting } from "./explain.ts";
import type { Pool } from "./pool.ts";
import { waitCauses } from "./waiting.ts";

const MINUTE = 60_000;
const tags = { env: "prod" };

type Fixture = ReturnType<typeof poolWithDaemons>;

function story(
  fixtures: Fixture[],
  jobs = waiting(1, tags),
  strangers: Parameters<typeof seen>[2] = [],
): string[] {
  const plan = decide(
    fixtures.map(({ pool }) => pool),
    seen(fixtures, jobs, strangers),
    NOW,
  );
  return waitCauses(plan, { now: NOW, coderdVersion: "v2.36.2+abc" }).map((group) => explainWaiting(group));
}

function without(node: Fixture): Fixture {
  const pods = node.pool.pods.map((pod) => ({ ...pod, unschedulableSince: NOW - 10 * MINUTE }));
  return { ...node, pool: { ...node.pool, pods } };
}

function longStarted(one: Fixture): Fixture {
  const pods = one.pool.pods.map((pod) => ({ ...pod, startedAt: NOW - 5 * MINUTE }));
  return { ...one, pool: { ...one.pool, pods } };
}

/** The pool without the pod of one of its daemons. */
function podless(one: Fixture, name: string): Fixture {
  const pods = one.pool.pods.filter((pod) => pod.name !== name);
  return { ...one, pool: { ...one.pool, pods } };
}

function ofVersion(one: Fixture, version: string): Fixture {
  return { ...one, daemons: one.daemons.map((each) => ({ ...each, version })) };
}

describe("a person who asks why a build waits reads that", () => {
  it.each<[string, Fixture[], string]>([
    [
      "no pool has its tags, and which tag the nearest lacks",
      [
        poolWithDaemons("", { name: "far", tags: { gpu: "a" } }),
        poolWithDaemons("", { name: "near", tags: { env: "test" } }),
      ],
      'no provisioner has all of them; the closest match, "far", lacks env=prod.',
    ],
    ["there is no pool at all", [], "no provisioner has exactly these tags; add one."],
    [
      "its pool is at the maximum",
      [poolWithDaemons("bb", { tags, max: 2 })],
      'provisioner "pool" is at its maximum of 2; increase maxReplicas or wait.',
    ],
    ["daemons are starting", [poolWithDaemons("s", { tags })], 'daemons of provisioner "pool" are starting.'],
    [
      "pods run whose daemons coderd does not list",
      [longStarted(poolWithDaemons("s", { tags }))],
      'pods of provisioner "pool" run (pool-0), but coderd does not list their daemons; check their logs.',
    ],
    [
      "no node has room",
      [without(poolWithDaemons("w", { tags }))],
      'pods of provisioner "pool" cannot be scheduled.',
    ],
    [
      "its pool is held",
      [poolWithDaemons("b", { tags, held: "an upgrade is under way" })],
      'provisioner "pool" is not scaled up: an upgrade is under way.',
    ],
    [
      "coderd still lists a daemon that no pod runs",
      [podless(poolWithDaemons("si", { tags, replicas: 1 }), "pool-1")],
      'daemons of provisioner "pool" are starting; coderd still lists daemons without a pod: pool-1.',
    ],
    [
      "free daemons have another version than coderd",
      [ofVersion(poolWithDaemons("i", { tags }), "v2.35.3")],
      'daemons of provisioner "pool" are idle, but run version v2.35.3 instead of the version of coderd; set an image of the same version.',
    ],
    [
      "a daemon is free",
      [poolWithDaemons("i", { tags })],
      "a daemon is idle, but does not acquire it; check its log.",
    ],
  ])("%s", (_, fixtures, expected) => {
    expect(story(fixtures)).toEqual([
      `1 build has been waiting since 1970-01-12T13:46:10Z for a daemon with the tags env=prod: ${expected}`,
    ]);
  });

  it("an idle foreign daemon will acquire it", () => {
    const stranger = daemon("helm", "idle", { tags: poolWithDaemons("", { tags }).pool.tags });
    expect(story([], waiting(1, tags), [stranger])).toEqual([expect.stringMatching(/a daemon is idle/)]);
  });

  it("an untagged build is served by untagged daemons alone", () => {
    expect(story([poolWithDaemons("i", { tags })], waiting(1))).toEqual([
      "1 build has been waiting since 1970-01-12T13:46:10Z for a daemon with the tags (none): no provisioner has exactly these tags; add one.",
    ]);
  });

  it("of many builds each waits for its own reason, the oldest first", () => {
    const jobs = [...waiting(3, tags), ...waiting(1, { gpu: "a" }, { createdAt: NOW - 10 * MINUTE })];
    expect(story([poolWithDaemons("bi", { tags, max: 3 })], jobs)).toEqual([
      expect.stringMatching(
        /^1 build has been waiting since 1970-01-12T13:36:40Z .*gpu=a.*no provisioner has all of them/,
      ),
      expect.stringMatching(/^1 build has been waiting .*a daemon is idle/),
      expect.stringMatching(/^1 build has been waiting .*starting/),
      expect.stringMatching(/^1 build has been waiting .*at its maximum of 3/),
    ]);
  });
});

it("long tags are truncated, and control characters are replaced", () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`tag${index}`, "x".repeat(4_000)]),
  );
  const [text = ""] = story([], waiting(1, { "a\nb": "\u202e", ...many }));
  expect(text.length).toBeLessThan(1_000);
  expect(text).toContain("a?b=?");
  expect(text).toContain("and 43 more");
});

describe("a person who asks why a pool has its number reads", () => {
  const reason = (crew: string, jobs: number, changes: Partial<Pool> = {}) => {
    const one = poolWithDaemons(crew, changes);
    const [decision] = decide([one.pool], seen([one], waiting(jobs)), NOW).decisions;
    return decision && explainDecision(decision);
  };

  it.each<[string, string, number, Partial<Pool>, string]>([
    [
      "of what it is made",
      "bb",
      1,
      { minIdle: 1 },
      "Needs 4 daemons: 2 busy, 1 build waiting, 1 reserved idle.",
    ],
    [
      "that the maximum limits it",
      "b",
      5,
      { max: 2 },
      "Needs 2 daemons: 1 busy, 5 builds waiting, 0 reserved idle, limited by the maximum of 2.",
    ],
    [
      "that the minimum raises it",
      "",
      0,
      { min: 1 },
      "Needs 1 daemon: 0 busy, 0 builds waiting, 0 reserved idle, raised to the minimum of 1.",
    ],
    [
      "that one is kept for what is due",
      "",
      0,
      { isKeptWarm: true },
      "Needs 1 daemon: 0 busy, 0 builds waiting, 0 reserved idle, 1 reserved for a scheduled build.",
    ],
    [
      "that the delay is not over",
      "ii",
      0,
      { scaleDownDelayMs: 300_000 },
      "Keeps 2 daemons for now (0 busy, 0 builds waiting, 0 reserved idle): 2 were needed within the last 300 s.",
    ],
    [
      "that the others may have work",
      "si",
      0,
      {},
      "Keeps 1 daemon for now (0 busy, 0 builds waiting, 0 reserved idle): the others are not idle.",
    ],
    [
      "that a rollout comes first",
      "i",
      0,
      { isRollingOut: true },
      "Keeps 1 daemon until the rollout completes (0 busy, 0 builds waiting, 0 reserved idle).",
    ],
    [
      "that something holds it",
      "i",
      0,
      { held: "an upgrade is under way" },
      "Stays at 1 daemon: an upgrade is under way.",
    ],
  ])("%s", (_, crew, jobs, changes, expected) => {
    expect(reason(crew, jobs, changes)).toBe(expected);
  });

  it("that coderd can't be asked, and that the fallback counts then", () => {
    const { pool } = poolWithDaemons("i", { fallback: 3 });
    const blind = (since: number) =>
      decide([pool], { seen: false, since }, NOW).decisions.map((decision) => explainDecision(decision));
    expect(blind(NOW)).toEqual([
      "Stays at 1 daemon: coderd's build queue is unavailable; see condition BuildsServed of the control plane.",
    ]);
    expect(blind(0)).toEqual([
      "Needs 3 daemons, the fallback: coderd's build queue is unavailable; see condition BuildsServed of the control plane.",
    ]);
  });
});

it("the most expensive queue that coderd can return is explained in milliseconds", () => {
  const jobs = Array.from({ length: 1_000 }, (_, index) => {
    const asked = Array.from({ length: 45 }, (__, tag) => [`t${tag}`, `${index}`]);
    return waiting(1, Object.fromEntries(asked), { id: `${index}` });
  }).flat();
  const fixtures = Array.from({ length: 100 }, (_, index) =>
    poolWithDaemons("bi", { name: `p${index}`, tags: { t1: "x" } }),
  );
  const pools = fixtures.map(({ pool }) => pool);
  const observation = seen(fixtures, jobs);
  const began = process.cpuUsage();
  waitCauses(decide(pools, observation, NOW), { now: NOW, coderdVersion: undefined });
  const { user } = process.cpuUsage(began);
  expect(user / 1_000).toBeLessThan(500);
});
