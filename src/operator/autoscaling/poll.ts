import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { MAX_JOBS } from "../../coder/provisioning.ts";
import type { DaemonObserver } from "../coderd/daemons.ts";
import { pauseAfterFailure } from "./poll-interval.ts";
import type { Queue, QueueSight } from "./pool.ts";

/** How looks at the queue of one organization went, and when to look again. */
export interface Looks {
  /** Whether the last one showed the queue. */
  readonly seen: boolean;
  /** When the last one began, or since when coderd is asked in vain. */
  readonly since: number;
  readonly nextAt: number;
  /** How long coderd took to answer. */
  readonly tookMs: number;
  /** Looks in vain in a row, and the last reason. */
  readonly failures: number;
  readonly failure: CoderFailure | { readonly message: string } | undefined;
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

interface Looked {
  readonly looks: Looks;
  readonly sight: QueueSight;
}

/** What has just begun has nothing to wait for: the first look can wait as well, while a fleet starts. */
const FIRST_LOOK_MS = 15_000;

export function neverLooked(now: number, pollMs: number): Looks {
  const nextAt = now + Math.min(pollMs, FIRST_LOOK_MS);
  return { seen: false, since: now, nextAt, tookMs: 0, failures: 0, failure: undefined };
}

/** Asks coderd for the whole queue of one organization, and says when to ask again. */
export async function look(access: Access, before: Looks, at: Look): Promise<Looked> {
  const began = at.now();
  const answer = await queueAt(access, at);
  const tookMs = at.now() - began;
  if ("queue" in answer)
    return {
      looks: { seen: true, since: began, nextAt: began, tookMs, failures: 0, failure: undefined },
      sight: { seen: true, queue: answer.queue },
    };
  const { failure } = answer;
  const { since } = before;
  const retryAfterMs = "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
  const failures = before.failures + 1;
  const nextAt = began + tookMs + pauseAfterFailure({ pollMs: at.pollMs, failures, retryAfterMs });
  return {
    looks: { seen: false, since, nextAt, tookMs, failures, failure },
    sight: { seen: false, since },
  };
}

type Answer = { readonly queue: Queue } | { readonly failure: CoderFailure | { readonly message: string } };

/** Two requests, whatever the number of pools. */
async function queueAt(access: Access, { observer, organizationId }: Look): Promise<Answer> {
  if (!access.client) return { failure: { message: access.message } };
  const [jobs, daemons] = await Promise.all([
    access.client.unfinishedJobs(organizationId),
    observer.observe({ ...access, organizationId, maxAgeMs: 0 }),
  ]);
  if (!jobs.ok) return jobs;
  if (!daemons.seen) return daemons;
  return { queue: { jobs: jobs.value, daemons: daemons.daemons, isCut: jobs.value.length >= MAX_JOBS } };
}
