import { describe, expect, it } from "vitest";
import { NOW, poolWithDaemons } from "../../../test/support/queue.ts";
import type { CoderClient } from "../../coder/client.ts";
import { failed, succeeded } from "../../coder/result.ts";
import { daemonTags } from "../../coder/tags.ts";
import type { ScheduledWorkspace } from "../../coder/workspaces.ts";
import { isFresh, isKeptWarm, listWarmWindows, neverListed, type WarmWindows } from "./keep-warm.ts";
import type { Pool } from "./pool.ts";

const MINUTE = 60_000;
const tags = { env: "prod" };
/** A full minute, so that nothing is rounded. */
const DUE = Math.ceil(NOW / MINUTE) * MINUTE + 120 * MINUTE;

const resting = (name: string, changes: Partial<Pool> = {}) =>
  poolWithDaemons("", { name, tags, keepWarmMs: 10 * MINUTE, ...changes }).pool;
const workspace = (dueAt: number | undefined, asked: Record<string, string> = tags): ScheduledWorkspace => ({
  tags: daemonTags(asked),
  dueAt,
});

/** A coderd with these workspaces, and the offsets of its requests. */
function coderd(workspaces: readonly ScheduledWorkspace[], { fails = false, tookMs = 0 } = {}) {
  const asked: number[] = [];
  let time = DUE - 30 * MINUTE;
  const client: Pick<CoderClient, "workspaces"> = {
    workspaces: async (_, offset) => {
      asked.push(offset);
      time += tookMs;
      if (fails) return failed({ kind: "transient", message: "down" });
      return succeeded({ workspaces: workspaces.slice(offset, offset + 100), count: workspaces.length });
    },
  };
  return { asked, listing: { client, organizationId: "org", now: () => time }, now: () => time };
}

async function warmthOf(pools: readonly Pool[], workspaces: readonly ScheduledWorkspace[]) {
  return listWarmWindows(pools, neverListed, coderd(workspaces).listing);
}

/** The warm time of a pool, in minutes relative to the due time. */
function warmMinutes(warmth: WarmWindows, pool: string): [number, number] | undefined {
  const all = Array.from({ length: 400 }, (_, index) => index - 200);
  const warm = all.filter((minute) => isKeptWarm(warmth, pool, DUE + minute * MINUTE));
  return warm.length === 0 ? undefined : [warm[0] ?? 0, warm.at(-1) ?? 0];
}

describe("a pool with a minimum of zero has a daemon", () => {
  it("from keepWarmMinutes before a workspace is due until an hour after", async () => {
    const warmth = await warmthOf([resting("pool")], [workspace(DUE)]);
    expect(warmMinutes(warmth, "pool")).toEqual([-10, 60]);
  });

  it("for what is overdue, since coderd still waits for a daemon", async () => {
    const warmth = await warmthOf([resting("pool")], [workspace(DUE - 50 * MINUTE)]);
    expect(isKeptWarm(warmth, "pool", DUE - 30 * MINUTE)).toBe(true);
  });

  it("at all times while there are too many workspaces to list", async () => {
    const { asked, listing, now } = coderd(Array.from({ length: 5_001 }, () => workspace(undefined)));
    const warmth = await listWarmWindows([resting("pool")], neverListed, listing);
    expect(isKeptWarm(warmth, "pool", now())).toBe(true);
    expect(asked).toHaveLength(50);
  });
});

describe("a pool is not kept warm", () => {
  it.each<[string, readonly Pool[], ScheduledWorkspace]>([
    ["for what no schedule starts or stops", [resting("pool")], workspace(undefined)],
    ["for what is due much later", [resting("pool")], workspace(DUE + 600 * MINUTE)],
    ["for what is overdue for long", [resting("pool")], workspace(DUE - 95 * MINUTE)],
    ["for other tags", [resting("pool")], workspace(DUE, { env: "test" })],
    ["that does not want to be", [resting("pool", { keepWarmMs: 0 })], workspace(DUE)],
    [
      "when another with a minimum serves the same tags",
      [resting("pool"), resting("other", { min: 1, keepWarmMs: 0 })],
      workspace(DUE),
    ],
    [
      "when another has a higher priority",
      [resting("pool"), resting("other", { priority: 1 })],
      workspace(DUE),
    ],
  ])("%s", async (_, pools, due) => {
    expect(warmMinutes(await warmthOf(pools, [due]), "pool")).toBeUndefined();
  });
});

describe("workspaces are listed", () => {
  it("page by page, to the last", async () => {
    const { asked, listing } = coderd([
      ...Array.from({ length: 250 }, () => workspace(undefined)),
      workspace(DUE),
    ]);
    const warmth = await listWarmWindows([resting("pool")], neverListed, listing);
    expect(asked).toEqual([0, 100, 200]);
    expect(warmMinutes(warmth, "pool")).toEqual([-10, 60]);
  });

  it("not at all while no pool keeps warm", async () => {
    const { asked, listing } = coderd([workspace(DUE)]);
    expect(await listWarmWindows([resting("pool", { keepWarmMs: 0 })], neverListed, listing)).toBe(
      neverListed,
    );
    expect(asked).toEqual([]);
  });

  it.each([
    [10, 0, 5],
    [1, 0, 1],
    [600, 0, 5],
    [10, 30_000, 10],
    [10, 600_000, 30],
  ])(
    "with %i minutes of warning and %i ms for an answer, %i minutes after that",
    async (lead, tookMs, pause) => {
      const { listing, now } = coderd([], { tookMs });
      const { nextAt } = await listWarmWindows(
        [resting("pool", { keepWarmMs: lead * MINUTE })],
        neverListed,
        listing,
      );
      expect(nextAt - now()).toBe(pause * MINUTE);
    },
  );

  it("from a slow coderd one page at a time, with scaling in between", async () => {
    const pools = [resting("pool")];
    const known = await warmthOf(pools, [workspace(DUE - 40 * MINUTE)]);
    const many = [...Array.from({ length: 250 }, () => workspace(undefined)), workspace(DUE)];
    const { asked, listing, now } = coderd(many, { tookMs: 5_000 });
    const first = await listWarmWindows(pools, known, listing);
    expect(asked).toEqual([0]);
    expect(first.windows).toBe(known.windows);
    expect(isFresh(first, now())).toBe(false);
    const second = await listWarmWindows(pools, first, listing);
    const last = await listWarmWindows(pools, second, listing);
    expect(asked).toEqual([0, 100, 200]);
    expect(warmMinutes(last, "pool")).toEqual([-10, 60]);
    expect(last.nextAt - now()).toBe(5 * MINUTE);
  });

  it("for half an hour at most, then something may be due at any time", async () => {
    const pools = [resting("pool")];
    const many = Array.from({ length: 4_000 }, () => workspace(undefined));
    const { listing, now } = coderd(many, { tookMs: MINUTE });
    let warmth = neverListed;
    for (let look = 0; look < 30; look++) warmth = await listWarmWindows(pools, warmth, listing);
    expect(isKeptWarm(warmth, "pool", now())).toBe(true);
    expect(isFresh(warmth, now())).toBe(true);
  });

  it("from the first page after a failure", async () => {
    const pools = [resting("pool")];
    const many = Array.from({ length: 250 }, () => workspace(undefined));
    const begun = await listWarmWindows(pools, neverListed, coderd(many, { tookMs: 5_000 }).listing);
    const failing = await listWarmWindows(pools, begun, coderd(many, { fails: true }).listing);
    const { asked, listing } = coderd(many);
    await listWarmWindows(pools, failing, listing);
    expect(asked).toEqual([0, 100, 200]);
  });

  it("again after a failure, which leaves what was known", async () => {
    const known = await warmthOf([resting("pool")], [workspace(DUE)]);
    const { listing } = coderd([], { fails: true });
    const failing = await listWarmWindows([resting("pool")], known, listing);
    expect(failing).toMatchObject({ windows: known.windows, problem: "down" });
    const healed = await listWarmWindows([resting("pool")], failing, coderd([workspace(DUE)]).listing);
    expect(healed.problem).toBeUndefined();
  });

  it("at once when the clock was set back by hours", () => {
    expect(isFresh({ ...neverListed, nextAt: NOW + 1 }, NOW)).toBe(true);
    expect(isFresh({ ...neverListed, nextAt: NOW + 600 * MINUTE }, NOW)).toBe(false);
    expect(isFresh({ ...neverListed, nextAt: NOW }, NOW)).toBe(false);
  });
});

it("what is kept of a thousand due times is a few windows", async () => {
  const times = Array.from({ length: 1_000 }, (_, index) => workspace(DUE + (index % 30) * MINUTE));
  const { windows } = await warmthOf([resting("pool")], times);
  expect(windows.get("pool")).toHaveLength(1);
});
