import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { DaemonObserver } from "../daemons/observer.ts";
import { pauseAfterFailure } from "./pace.ts";
import type { Queue, QueueSight } from "./pool.ts";

/** What is known of the queue of one organization, and when to look again. */
export interface Looks {
  /** The last that coderd said, while it answers. */
  readonly queue: Queue | undefined;
  /** Since when it is known, or since when coderd is asked in vain. */
  readonly since: number;
  readonly nextAt: number;
  /** How long coderd took to answer. */
  readonly tookMs: number;
  /** Looks in vain in a row, and the last reason. */
  readonly failures: number;
  readonly failure: Pick<CoderFailure, "message"> | undefined;
}

/** A way to ask coderd, or why there is none. */
export type Access =
  | { readonly client: CoderClient; readonly url: string; readonly token: string }
  | { readonly client: undefined; readonly message: string };

export interface Look {
  readonly observer: DaemonObserver;
  readonly organizationId: string;
  readonly pollMs: number;
  readonly now: () => number;
}

/** Asks coderd for the whole queue of one organization: two requests, whatever the number of pools. */
export async function look(access: Access, before: Looks | undefined, at: Look): Promise<Looks> {
  const began = at.now();
  if (!access.client) return inVain({ message: access.message }, before, { ...at, began });
  const { client } = access;
  const [jobs, daemons] = await Promise.all([
    client.unfinishedJobs(at.organizationId),
    at.observer.observe({ ...access, organizationId: at.organizationId, maxAgeMs: 0 }),
  ]);
  const tookMs = at.now() - began;
  if (jobs.ok && daemons.seen) {
    const queue = { jobs: jobs.value, daemons: daemons.daemons };
    return { queue, since: began, nextAt: began, tookMs, failures: 0, failure: undefined };
  }
  const failure = jobs.ok ? (daemons.seen ? undefined : daemons.failure) : jobs.failure;
  const retryAfterMs = failure?.kind === "rateLimited" ? failure.retryAfterMs : undefined;
  return inVain(failure, before, { ...at, began, retryAfterMs });
}

function inVain(
  failure: Looks["failure"],
  before: Looks | undefined,
  at: Look & { readonly began: number; readonly retryAfterMs?: number | undefined },
): Looks {
  const { began, pollMs, retryAfterMs } = at;
  const tookMs = at.now() - began;
  const failures = (before?.failures ?? 0) + 1;
  const pauseMs = pauseAfterFailure({ pollMs, failures, retryAfterMs });
  return {
    ...{ queue: undefined, tookMs, failures, failure },
    since: before?.since ?? began,
    nextAt: began + tookMs + pauseMs,
  };
}

export function sightOf({ queue, since }: Looks): QueueSight {
  return queue ? { seen: true, queue } : { seen: false, since };
}
