import type { CoderClient } from "../../coder/client.ts";
import type { Tags } from "../../coder/provisioning.ts";
import { daemonMatcher } from "../../coder/tags.ts";
import { type ScheduledWorkspace, WORKSPACES_PER_PAGE } from "../../coder/workspaces.ts";
import { byPreference, tagsKey } from "./assign.ts";
import { REST_PER_POLL } from "./poll-interval.ts";
import type { Pool } from "./pool.ts";

/*
 * coderd skips automatic starts and stops of workspaces while no matching daemon was active recently, and
 * creates no pending job for them. Therefore, a pool at zero needs a daemon before they are due, according to
 * the list of workspaces.
 */

/** Time during which a pool has a daemon although no job is waiting. */
interface Window {
  readonly from: number;
  readonly until: number;
}

/** The relevant parts of a list of workspaces. */
export interface WarmWindows {
  readonly nextAt: number;
  /** By pool name. */
  readonly windows: ReadonlyMap<string, readonly Window[]>;
  /** A list to continue with the next poll. */
  readonly unfinished?: UnfinishedList;
  /** Why coderd did not list the workspaces the last time. */
  readonly problem?: string;
}

interface UnfinishedList {
  readonly beganAt: number;
  /** Other times are ignored. */
  readonly period: Window;
  readonly nextPage: number;
  readonly due: Map<string, Due>;
  readonly tookMs: number;
}

export const neverListed: WarmWindows = { nextAt: 0, windows: new Map() };

type WarmPool = Pick<Pool, "name" | "tags" | "priority" | "min" | "keepWarmMs">;

/** With more pages, or more than can be read in time, builds are assumed to be due at any time. */
const MAX_PAGES = 50;
const MAX_LIST_MS = 30 * 60_000;

/**
 * Maximum time to read pages per poll, because scaling takes precedence. The last page may take as long as
 * any request.
 */
const MAX_READ_MS = 5_000;

/** Builds that are overdue for longer have a different cause than a missing daemon. */
const OVERDUE_MS = 60 * 60_000;

/** coderd checks for due builds once a minute, so times within a minute are equal. */
const RESOLUTION_MS = 60_000;

/** Interval between lists: half of the time before the next relevant time, within limits. */
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [60_000, 5 * 60_000];
/** Upper limit, however slow coderd is. */
const SLOWEST_PAUSE_MS = 30 * 60_000;

export function isKeptWarm({ windows }: WarmWindows, pool: string, now: number): boolean {
  return windows.get(pool)?.some(({ from, until }) => now >= from && now < until) ?? false;
}

/** Whether the next list is not due yet. Bounded, in case the clock was set back. */
export function isFresh({ nextAt }: WarmWindows, now: number): boolean {
  return now < nextAt && nextAt - now <= SLOWEST_PAUSE_MS;
}

interface Listing {
  readonly client: Pick<CoderClient, "workspaces">;
  readonly organizationId: string;
  readonly now: () => number;
}

/**
 * Lists the workspaces of an organization if a pool has keepWarmMinutes, and determines when each pool needs
 * a daemon. A slow list is read in parts, one per call. Until it is complete, and while coderd does not
 * respond, the previous result remains valid.
 */
export async function listWarmWindows(
  pools: readonly WarmPool[],
  before: WarmWindows,
  listing: Listing,
): Promise<WarmWindows> {
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
    nextAt: now + Math.min(Math.max(pauseMs, tookMs * REST_PER_POLL), SLOWEST_PAUSE_MS),
    windows: due ? warmWindows(pools, due) : before.windows,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** Times at which builds with the same tags are due. */
interface Due {
  readonly tags: Tags;
  readonly times: Set<number>;
}

function newList(now: number, leadMs: number): UnfinishedList {
  const period = { from: now - OVERDUE_MS, until: now + leadMs + SLOWEST_PAUSE_MS };
  return { beganAt: now, period, nextPage: 0, due: new Map(), tookMs: 0 };
}

/** Progress of reading a list. */
interface Progress {
  /** Due builds in the period, by tags. Undefined if coderd does not respond. */
  readonly due: readonly Due[] | "anything" | "unfinished" | undefined;
  readonly nextPage: number;
  /** Why coderd does not respond. */
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
  known.times.add(Math.floor(dueAt / RESOLUTION_MS) * RESOLUTION_MS);
  due.set(key, known);
}

/** Times at which each pool needs a daemon. A job that matches a pool with a minimum needs no other pool. */
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
      until: at + RESOLUTION_MS + OVERDUE_MS,
    }));
    windows.set(chosen.name, merged([...(windows.get(chosen.name) ?? []), ...added]));
  }
  return windows;
}

/** Merges overlapping windows. */
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
