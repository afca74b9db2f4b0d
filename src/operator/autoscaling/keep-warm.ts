import type { CoderClient } from "../../coder/client.ts";
import type { Tags } from "../../coder/provisioning.ts";
import { daemonMatcher } from "../../coder/tags.ts";
import { type ScheduledWorkspace, WORKSPACES_PER_PAGE } from "../../coder/workspaces.ts";
import { byPreference, tagsKey } from "./assign.ts";
import { REST_PER_LOOK } from "./poll-interval.ts";
import type { Pool } from "./pool.ts";

/*
 * coderd skips automatic starts and stops of workspaces while it has seen no daemon for them lately, and nothing becomes
 * pending for them. So a pool at zero has to have a daemon before they are due, which a list of workspaces says.
 */

/** From when to when a pool has a daemon although nothing waits. */
interface Window {
  readonly from: number;
  readonly until: number;
}

/** What is kept of a list of workspaces. */
export interface Warmth {
  readonly nextAt: number;
  /** By the name of the pool. */
  readonly windows: ReadonlyMap<string, readonly Window[]>;
  /** A list that the next look goes on with. */
  readonly unfinished?: UnfinishedList;
  /** Why coderd did not list them the last time. */
  readonly problem?: string;
}

interface UnfinishedList {
  readonly beganAt: number;
  /** What is due at another time does not matter. */
  readonly period: Window;
  readonly nextPage: number;
  readonly due: Map<string, Due>;
  readonly tookMs: number;
}

export const neverListed: Warmth = { nextAt: 0, windows: new Map() };

type WarmPool = Pick<Pool, "name" | "tags" | "priority" | "min" | "keepWarmMs">;

/** Workspaces of more pages, or of more than can be read before it is too late, may have something due at any time. */
const MAX_PAGES = 50;
const MAX_LIST_MS = 30 * 60_000;

/** So long one look reads pages, then scaling comes first again. The last page may take as long as any request. */
const MAX_READ_MS = 5_000;

/** What is overdue for so long has another reason than a missing daemon. */
const OVERDUE_MS = 60 * 60_000;

/** coderd looks for what is due once a minute, so that times within a minute are one. */
const GRAIN_MS = 60_000;

/** Between two lists: half of the time before which something has to be known, within limits. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [60_000, 5 * 60_000];
/** However slow coderd is. */
const SLOWEST_PAUSE_MS = 30 * 60_000;

export function isKeptWarm({ windows }: Warmth, pool: string, now: number): boolean {
  return windows.get(pool)?.some(({ from, until }) => now >= from && now < until) ?? false;
}

/** Whether it is too soon for another list. A clock that was set back would make it wait for as long. */
export function isFresh({ nextAt }: Warmth, now: number): boolean {
  return now < nextAt && nextAt - now <= SLOWEST_PAUSE_MS;
}

interface Listing {
  readonly client: Pick<CoderClient, "workspaces">;
  readonly organizationId: string;
  readonly now: () => number;
}

/**
 * Lists the workspaces of an organization, if a pool keeps warm for them, and says when each pool needs a daemon. A list
 * that takes long is read in parts, one for each call. What was known stays known until then, and while coderd does not
 * list them.
 */
export async function listWarmth(
  pools: readonly WarmPool[],
  before: Warmth,
  listing: Listing,
): Promise<Warmth> {
  const leads = pools.map(({ keepWarmMs }) => keepWarmMs).filter((ms) => ms > 0);
  if (leads.length === 0) return neverListed;
  const began = listing.now();
  const list = before.unfinished ?? newList(began, Math.max(...leads));
  const { due, nextPage, problem } = await readOn(list, listing);
  const now = listing.now();
  const tookMs = list.tookMs + now - began;
  if (due === "unfinished") return { ...before, nextAt: now, unfinished: { ...list, nextPage, tookMs } };
  const pauseMs = Math.min(Math.max(Math.min(...leads) / 2, MIN_PAUSE_MS), MAX_PAUSE_MS);
  return {
    nextAt: now + Math.min(Math.max(pauseMs, tookMs * REST_PER_LOOK), SLOWEST_PAUSE_MS),
    windows: due ? warmWindows(pools, due) : before.windows,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** When builds with the same tags are due. */
interface Due {
  readonly tags: Tags;
  readonly times: Set<number>;
}

function newList(now: number, leadMs: number): UnfinishedList {
  const period = { from: now - OVERDUE_MS, until: now + leadMs + SLOWEST_PAUSE_MS };
  return { beganAt: now, period, nextPage: 0, due: new Map(), tookMs: 0 };
}

/** How far a list was read. */
interface Progress {
  /** What is due in the period, by tags; undefined when coderd does not say. */
  readonly due: readonly Due[] | "anything" | "unfinished" | undefined;
  readonly nextPage: number;
  /** Why coderd does not say. */
  readonly problem?: string;
}

async function readOn(
  { beganAt, period, nextPage, due }: UnfinishedList,
  { client, organizationId, now }: Listing,
): Promise<Progress> {
  const began = now();
  for (let page = nextPage; page < MAX_PAGES && now() - beganAt < MAX_LIST_MS; page++) {
    if (now() - began >= MAX_READ_MS) return { due: "unfinished", nextPage: page };
    const answer = await client.workspaces(organizationId, page * WORKSPACES_PER_PAGE);
    if (!answer.ok) return { due: undefined, nextPage: 0, problem: answer.failure.message };
    const { workspaces, count } = answer.value;
    for (const workspace of workspaces) note(workspace, period, due);
    const isLast = workspaces.length === 0 || (page + 1) * WORKSPACES_PER_PAGE >= count;
    if (isLast) return { due: [...due.values()], nextPage: 0 };
  }
  return { due: "anything", nextPage: 0 };
}

function note({ tags, dueAt }: ScheduledWorkspace, { from, until }: Window, due: Map<string, Due>): void {
  if (dueAt === undefined || dueAt < from || dueAt > until) return;
  const key = tagsKey(tags);
  const known = due.get(key) ?? { tags, times: new Set() };
  known.times.add(Math.floor(dueAt / GRAIN_MS) * GRAIN_MS);
  due.set(key, known);
}

/** When each pool that keeps warm needs a daemon. A job that a pool with a minimum could serve needs no other. */
function warmWindows(
  pools: readonly WarmPool[],
  due: readonly Due[] | "anything",
): Map<string, readonly Window[]> {
  if (due === "anything") {
    const warm = pools.filter(({ keepWarmMs }) => keepWarmMs > 0);
    return new Map(warm.map(({ name }) => [name, [{ from: 0, until: Number.POSITIVE_INFINITY }]]));
  }
  const windows = new Map<string, Window[]>();
  for (const { tags, times } of due) {
    const serves = daemonMatcher(tags);
    const able = pools.filter((pool) => serves(pool.tags)).sort(byPreference);
    const chosen = able.find(({ keepWarmMs }) => keepWarmMs > 0);
    if (!chosen || able.some(({ min }) => min > 0)) continue;
    const added = [...times].map((at) => ({
      from: at - chosen.keepWarmMs,
      until: at + GRAIN_MS + OVERDUE_MS,
    }));
    windows.set(chosen.name, merged([...(windows.get(chosen.name) ?? []), ...added]));
  }
  return windows;
}

/** The same moments in as few windows as possible. */
function merged(windows: readonly Window[]): Window[] {
  const result: Window[] = [];
  for (const next of windows.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last && next.from <= last.until)
      result[result.length - 1] = { from: last.from, until: Math.max(last.until, next.until) };
    else result.push(next);
  }
  return result;
}
