import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import { MAX_JOBS } from "../../coder/provisioning.ts";
import { observeDaemons } from "../coderd/daemons.ts";
import type { SharedAnswers } from "../coderd/shared-answers.ts";
import { pauseAfterFailure } from "./poll-interval.ts";
import type { Queue, QueueObservation } from "./pool.ts";

/** Results of polling one organization, and when to poll next. */
export interface PollState {
  /** Whether the last poll succeeded. */
  readonly seen: boolean;
  /** Start of the last poll, or of the first failed one. */
  readonly since: number;
  readonly nextAt: number;
  /** Response time of coderd. */
  readonly tookMs: number;
  /** Consecutive failures, and the last reason. */
  readonly failures: number;
  readonly failure: CoderFailure | { readonly message: string } | undefined;
}

/** Access to coderd, or the reason why there is none. */
export type Access =
  | { readonly client: CoderClient; readonly url: string; readonly token: string }
  | { readonly client: undefined; readonly message: string };

export interface PollTarget {
  readonly answers: SharedAnswers;
  readonly organizationId: string;
  readonly pollMs: number;
  readonly now: () => number;
}

interface PollResult {
  readonly state: PollState;
  readonly observation: QueueObservation;
}

/** Delay of the first poll, because nothing can be waiting yet, and a fleet may be starting. */
const FIRST_POLL_DELAY_MS = 15_000;

export function neverPolled(now: number, pollMs: number): PollState {
  const nextAt = now + Math.min(pollMs, FIRST_POLL_DELAY_MS);
  return { seen: false, since: now, nextAt, tookMs: 0, failures: 0, failure: undefined };
}

/** Reads the queue of one organization, and determines when to poll next. */
export async function poll(access: Access, before: PollState, at: PollTarget): Promise<PollResult> {
  const began = at.now();
  const answer = await queueAt(access, at);
  const tookMs = at.now() - began;
  if ("queue" in answer)
    return {
      state: { seen: true, since: began, nextAt: began, tookMs, failures: 0, failure: undefined },
      observation: { seen: true, queue: answer.queue },
    };
  const { failure } = answer;
  const { since } = before;
  const retryAfterMs = "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
  const failures = before.failures + 1;
  const nextAt = began + tookMs + pauseAfterFailure({ pollMs: at.pollMs, failures, retryAfterMs });
  return {
    state: { seen: false, since, nextAt, tookMs, failures, failure },
    observation: { seen: false, since },
  };
}

type Answer = { readonly queue: Queue } | { readonly failure: CoderFailure | { readonly message: string } };

/** Two requests, independent of the number of pools. */
async function queueAt(access: Access, { answers, organizationId }: PollTarget): Promise<Answer> {
  if (!access.client) return { failure: { message: access.message } };
  const [jobs, daemons] = await Promise.all([
    access.client.unfinishedJobs(organizationId),
    observeDaemons(answers, { ...access, organizationId, maxAgeMs: 0 }),
  ]);
  if (!jobs.ok) return jobs;
  if (!daemons.seen) return daemons;
  return { queue: { jobs: jobs.value, daemons: daemons.value, isCut: jobs.value.length >= MAX_JOBS } };
}
