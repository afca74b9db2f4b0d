import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { MOST_JOBS } from "../../coder/provisioning.ts";
import type { DaemonObserver } from "../daemons/observer.ts";
import { pauseAfterFailure } from "./pace.ts";
import type { QueueSight } from "./pool.ts";

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

/** Asks coderd for the whole queue of one organization: two requests, whatever the number of pools. */
export async function look(access: Access, before: Looks, at: Look): Promise<Looked> {
  const began = at.now();
  if (!access.client) return inVain({ message: access.message }, before, { ...at, began });
  const { client } = access;
  const [jobs, daemons] = await Promise.all([
    client.unfinishedJobs(at.organizationId),
    at.observer.observe({ ...access, organizationId: at.organizationId, maxAgeMs: 0 }),
  ]);
  const tookMs = at.now() - began;
  if (jobs.ok && daemons.seen) {
    const isCut = jobs.value.length >= MOST_JOBS;
    return {
      looks: { seen: true, since: began, nextAt: began, tookMs, failures: 0, failure: undefined },
      sight: { seen: true, queue: { jobs: jobs.value, daemons: daemons.daemons, isCut } },
    };
  }
  const failure = jobs.ok ? (daemons.seen ? undefined : daemons.failure) : jobs.failure;
  const retryAfterMs = failure?.kind === "rateLimited" ? failure.retryAfterMs : undefined;
  return inVain(failure, before, { ...at, began, retryAfterMs });
}

function inVain(
  failure: Looks["failure"],
  { since, failures: before }: Looks,
  at: Look & { readonly began: number; readonly retryAfterMs?: number | undefined },
): Looked {
  const { began, pollMs, retryAfterMs } = at;
  const tookMs = at.now() - began;
  const failures = before + 1;
  const nextAt = began + tookMs + pauseAfterFailure({ pollMs, failures, retryAfterMs });
  return {
    looks: { seen: false, since, nextAt, tookMs, failures, failure },
    sight: { seen: false, since },
  };
}
