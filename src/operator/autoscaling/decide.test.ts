import { describe, expect, it } from "vitest";
import { daemon, NOW, poolWithDaemons, seen, waiting } from "../../../test/support/queue.ts";
import { daemonTags } from "../../coder/tags.ts";
import { decide } from "./decide.ts";
import type { Pool } from "./pool.ts";

const MINUTE = 60_000;

/** The decision for one pool. */
function verdict(crew: string, jobs: number, changes: Partial<Pool> = {}) {
  const one = poolWithDaemons(crew, changes);
  const [decision] = decide([one.pool], seen([one], waiting(jobs, changes.tags)), NOW).decisions;
  return [decision?.replicas, decision?.cause];
}

/** The decisions for several pools, by name. */
function shares(
  fixtures: ReturnType<typeof poolWithDaemons>[],
  ...rest: [Parameters<typeof seen>[1], Parameters<typeof seen>[2]?]
) {
  const { decisions } = decide(
    fixtures.map(({ pool }) => pool),
    seen(fixtures, ...rest),
    NOW,
  );
  return Object.fromEntries(decisions.map(({ pool, replicas }) => [pool.name, replicas]));
}

const lately = (wanted: number, agoMs: number) => [{ at: NOW - agoMs, wanted }];

describe("a pool", () => {
  it.each([
    ["has one daemon for each job", "", 3, {}, [3, "following"]],
    ["adds those that wait to those that are busy", "bb", 3, {}, [5, "following"]],
    ["counts free daemons for jobs that wait", "bii", 2, {}, [3, "following"]],
    ["keeps some idle on top", "bb", 1, { minIdle: 2 }, [5, "following"]],
    ["never has less than its minimum", "", 0, { min: 2 }, [2, "following"]],
    ["never has more than its maximum", "bb", 20, { max: 4 }, [4, "following"]],
    [
      "comes down to a lowered maximum at once",
      "iiiii",
      0,
      { max: 2, min: 2, scaleDownDelayMs: MINUTE },
      [2, "following"],
    ],
    ["comes down to a lowered maximum only by what is idle", "bbbbi", 0, { max: 2 }, [4, "working"]],
    ["rests at zero", "", 0, {}, [0, "following"]],
    ["keeps one while something is due soon", "i", 0, { isKeptWarm: true }, [1, "following"]],
    ["starts one when something is due soon", "", 0, { isKeptWarm: true }, [1, "following"]],
    [
      "has none when its maximum is zero, whatever is due",
      "",
      3,
      { isKeptWarm: true, max: 0 },
      [0, "following"],
    ],
    ["lets go only what is idle", "bbiii", 0, {}, [2, "following"]],
    ["keeps a daemon that coderd does not list, which may have a job", "sii", 0, {}, [1, "working"]],
    ["keeps a daemon that is offline, which may have a job", "oi", 0, {}, [1, "working"]],
    ["lets go pods that wait for a node", "bww", 0, {}, [1, "following"]],
    ["lets go pods that were never made", "b", 0, { replicas: 4 }, [1, "following"]],
    ["does not count pods that leave, nor their jobs", "bB", 1, {}, [2, "following"]],
    ["does not count free daemons of pods that leave", "II", 1, { replicas: 0 }, [1, "following"]],
    ["gives up nothing during a rollout", "iii", 0, { isRollingOut: true }, [3, "rollingOut"]],
    ["grows during a rollout", "bbb", 2, { isRollingOut: true }, [5, "following"]],
    ["does not move while it is held", "iii", 0, { held: "an upgrade is under way" }, [3, "held"]],
    ["does not grow while it is held", "b", 4, { held: "an upgrade is under way" }, [1, "held"]],
  ] satisfies [string, string, number, Partial<Pool>, unknown][])(
    "%s",
    (_, crew, jobs, changes, expected) => {
      expect(verdict(crew, jobs, changes)).toEqual(expected);
    },
  );

  it("gives up nothing while a busy daemon's pod is not ready, which would be the first to go", () => {
    const one = poolWithDaemons("bii");
    const pods = one.pool.pods.map((pod, index) => ({ ...pod, isReady: index > 0 }));
    const [decision] = decide([{ ...one.pool, pods }], seen([one]), NOW).decisions;
    expect([decision?.replicas, decision?.cause]).toEqual([3, "exposed"]);
  });

  it("gives up nothing while coderd does not list all jobs, of which older ones may wait for it", () => {
    const one = poolWithDaemons("bii");
    const { queue } = seen([one]);
    const [decision] = decide([one.pool], { seen: true, queue: { ...queue, isCut: true } }, NOW).decisions;
    expect([decision?.replicas, decision?.cause]).toEqual([3, "cut"]);
  });

  it.each([
    ["goes down after the delay", { history: lately(4, 6 * MINUTE) }, [0, "following"]],
    ["waits while more was wanted within the delay", { history: lately(4, 4 * MINUTE) }, [4, "delayed"]],
    [
      "goes down to the most that was wanted within the delay",
      { history: lately(2, 4 * MINUTE) },
      [2, "delayed"],
    ],
    ["waits for the whole delay after the first look", { history: [] }, [4, "delayed"]],
  ])("%s", (_, changes, expected) => {
    expect(verdict("iiii", 0, { scaleDownDelayMs: 5 * MINUTE, ...changes })).toEqual(expected);
  });

  it("does not increase indefinitely while no node has room", () => {
    const stuck = poolWithDaemons("bw", { max: 20 });
    const pods = stuck.pool.pods.map((pod) =>
      pod.startedAt ? pod : { ...pod, unschedulableSince: NOW - 6 * MINUTE },
    );
    const pool = { ...stuck.pool, pods };
    const observation = seen([stuck], waiting(5));
    expect(decide([pool], observation, NOW).decisions).toMatchObject([
      { replicas: 2, cause: "unschedulable", demand: 6 },
    ]);
    const early = decide([pool], observation, NOW - 5 * MINUTE).decisions;
    expect(early).toMatchObject([{ replicas: 6, cause: "following" }]);
  });
});

describe("while coderd can't be asked, a pool", () => {
  const blind = (sinceMs: number, changes: Partial<Pool>) =>
    decide([poolWithDaemons("ii", changes).pool], { seen: false, since: NOW - sinceMs }, NOW).decisions[0];

  it.each([
    ["does not move", 9 * MINUTE, { fallback: 5 }, [2, "blind"]],
    ["has at least the fallback after ten minutes", 10 * MINUTE, { fallback: 5 }, [5, "fallback"]],
    ["is not lowered to the fallback", 10 * MINUTE, { fallback: 1 }, [2, "blind"]],
    ["has no more than its maximum", 10 * MINUTE, { fallback: 50, max: 7 }, [7, "fallback"]],
    ["does not move without a fallback", 60 * MINUTE, {}, [2, "blind"]],
    ["is lowered to a maximum that people have lowered", MINUTE, { max: 1 }, [1, "capped"]],
    [
      "is lowered to it rather than raised to the fallback",
      10 * MINUTE,
      { max: 1, fallback: 5 },
      [1, "capped"],
    ],
    ["is not lowered because of a moment without an answer", 30_000, { max: 1 }, [2, "blind"]],
    ["is not lowered while it is held", 60 * MINUTE, { max: 1, held: "it is paused" }, [2, "held"]],
    [
      "does not move while it is held",
      60 * MINUTE,
      { fallback: 5, held: "an upgrade is under way" },
      [2, "held"],
    ],
  ] satisfies [string, number, Partial<Pool>, unknown][])("%s", (_, sinceMs, changes, expected) => {
    const decision = blind(sinceMs, changes);
    expect([decision?.replicas, decision?.cause]).toEqual(expected);
  });

  it("keeps all daemons: the delay restarts when coderd responds again", () => {
    const history =
      blind(20 * MINUTE, { scaleDownDelayMs: 5 * MINUTE, history: lately(2, 30 * MINUTE) })?.history ?? [];
    expect(verdict("ii", 0, { scaleDownDelayMs: 5 * MINUTE, history })).toEqual([2, "delayed"]);
  });
});

describe("a job that several pools could serve is assigned", () => {
  const tags = { env: "prod" };

  it("to a free daemon first, regardless of priorities", () => {
    const fixtures = [
      poolWithDaemons("", { name: "a", tags, priority: 9 }),
      poolWithDaemons("i", { name: "b", tags }),
    ];
    expect(shares(fixtures, waiting(1, tags))).toEqual({ a: 0, b: 1 });
  });

  it("to an idle foreign daemon before a new one", () => {
    const fixtures = [poolWithDaemons("", { name: "a", tags })];
    const others = [daemon("helm", "idle", { tags: daemonTags(tags) })];
    expect(shares(fixtures, waiting(2, tags), others)).toEqual({ a: 1 });
  });

  it("not to one of our daemons whose pod is gone", () => {
    const fixtures = [poolWithDaemons("", { name: "a", tags })];
    const ghost = [daemon("a-gone", "idle", { keyId: "key-a", tags: daemonTags(tags) })];
    expect(shares(fixtures, waiting(1, tags), ghost)).toEqual({ a: 1 });
  });

  it("then to the pool with the highest priority", () => {
    const fixtures = [
      poolWithDaemons("", { name: "a", tags }),
      poolWithDaemons("", { name: "b", tags, priority: 1 }),
    ];
    expect(shares(fixtures, waiting(2, tags))).toEqual({ a: 0, b: 2 });
  });

  it("then to the pool with the fewest tags beyond its own", () => {
    const fixtures = [
      poolWithDaemons("", { name: "a", tags: { ...tags, gpu: "yes" } }),
      poolWithDaemons("", { name: "b", tags }),
    ];
    expect(shares(fixtures, waiting(2, tags))).toEqual({ a: 0, b: 2 });
  });

  it("to the next pool when the first is at its maximum", () => {
    const fixtures = [
      poolWithDaemons("b", { name: "a", tags, max: 2, priority: 1 }),
      poolWithDaemons("", { name: "b", tags }),
    ];
    expect(shares(fixtures, waiting(3, tags))).toEqual({ a: 2, b: 2 });
  });

  it("to the next pool when the first must not grow", () => {
    const fixtures = [
      poolWithDaemons("b", { name: "a", tags, held: "a reason", priority: 1 }),
      poolWithDaemons("", { name: "b", tags }),
    ];
    expect(shares(fixtures, waiting(2, tags))).toEqual({ a: 1, b: 2 });
  });
});

it("a job without tags raises no pool with tags, and the other way round", () => {
  const fixtures = [
    poolWithDaemons("", { name: "plain" }),
    poolWithDaemons("", { name: "tagged", tags: { env: "prod" } }),
  ];
  expect(shares(fixtures, [...waiting(2), ...waiting(3, { env: "prod" })])).toEqual({ plain: 2, tagged: 3 });
});

it("jobs that run, are cancelled or listed twice are not counted as waiting", () => {
  const twice = [...waiting(1), ...waiting(1)];
  const others = [
    ...waiting(1, {}, { id: "r", status: "running" }),
    ...waiting(1, {}, { id: "c", status: "canceling" }),
  ];
  expect(shares([poolWithDaemons("")], [...twice, ...others])).toEqual({ pool: 1 });
});
