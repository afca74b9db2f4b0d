import { backoff, type Clock, fingerprint } from "kube-controller-runtime";
import type { CoderClient } from "../../coder/client.ts";
import type { CoderFailure } from "../../coder/failure.ts";
import type { ProvisionerDaemon } from "../../coder/provisioning.ts";

/** A query for daemons, and the maximum age of the result. */
export interface DaemonQuestion {
  readonly client: Pick<CoderClient, "provisionerDaemons">;
  /** URL and token of the client. Results are shared between clients with the same URL and token. */
  readonly url: string;
  readonly token: string;
  readonly organizationId: string;
  /** 0 always sends a request, or joins a running one. */
  readonly maxAgeMs: number;
}

/** The daemons of an organization. */
interface DaemonsSeen {
  readonly seen: true;
  readonly daemons: readonly ProvisionerDaemon[];
  /** Time of the request. */
  readonly at: number;
  readonly tookMs: number;
}

export type DaemonSight =
  | DaemonsSeen
  /**
   * coderd did not respond or rejected the request. It is not asked again before `retryInMs`, unless
   * `maxAgeMs` is 0.
   */
  | {
      readonly seen: false;
      readonly failure: CoderFailure;
      /** Number of consecutive failures. */
      readonly inARow: number;
      readonly retryInMs: number;
    };

interface Known {
  asking?: Promise<DaemonSight>;
  last?: DaemonsSeen;
  failed?: { readonly failure: CoderFailure; readonly inARow: number; readonly retryAt: number };
  usedAt: number;
}

const RETRY = { baseMs: 2_000, capMs: 60_000 };

/** Limits the time that coderd spends on this request to a twentieth, however slow it is. */
const REST_PER_ANSWER = 20;
const MAX_PAUSE_MS = 120_000;

const FORGET_AFTER_MS = 10 * 60_000;

/**
 * Lists the daemons of coderd once for all pools of an organization and for the queue: callers that ask
 * during a request or soon afterwards receive the same result. Its state only saves requests.
 */
export class DaemonObserver {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async observe(question: DaemonQuestion): Promise<DaemonSight> {
    const now = this.#clock.now();
    this.#sweep(now);
    const known = this.#of(question);
    known.usedAt = now;
    if (known.asking) return known.asking;
    const remembered = question.maxAgeMs > 0 ? remember(known, question.maxAgeMs, now) : undefined;
    if (remembered) return remembered;
    known.asking = this.#ask(question, known).finally(() => {
      delete known.asking;
    });
    return known.asking;
  }

  async #ask({ client, organizationId }: DaemonQuestion, known: Known): Promise<DaemonSight> {
    const at = this.#clock.now();
    const answer = await client.provisionerDaemons(organizationId);
    const now = this.#clock.now();
    if (answer.ok) {
      delete known.failed;
      known.last = { seen: true, daemons: answer.value, at, tookMs: now - at };
      return known.last;
    }
    const { failure } = answer;
    const inARow = (known.failed?.inARow ?? 0) + 1;
    const retryInMs = pauseAfter(failure, inARow);
    known.failed = { failure, inARow, retryAt: now + retryInMs };
    return { seen: false, failure, inARow, retryInMs };
  }

  #of({ url, token, organizationId }: DaemonQuestion): Known {
    const key = fingerprint([url, token, organizationId]);
    const known: Known = this.#known.get(key) ?? { usedAt: 0 };
    this.#known.set(key, known);
    return known;
  }

  /** Drops all old lists of daemons, because they are large. */
  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < FORGET_AFTER_MS) return;
    this.#sweptAt = now;
    for (const [key, { asking, usedAt }] of this.#known)
      if (!asking && now - usedAt >= FORGET_AFTER_MS) this.#known.delete(key);
  }
}

/** Returns a result that is still valid. After the clock was set back, no result is valid. */
function remember({ last, failed }: Known, maxAgeMs: number, now: number): DaemonSight | undefined {
  if (failed) {
    const { retryAt, ...known } = failed;
    return retryAt > now ? { seen: false, ...known, retryInMs: retryAt - now } : undefined;
  }
  if (!last || now < last.at) return undefined;
  const restMs = Math.min(last.tookMs * REST_PER_ANSWER, MAX_PAUSE_MS);
  return now - last.at < Math.max(maxAgeMs, restMs) ? last : undefined;
}

function pauseAfter(failure: CoderFailure, inARow: number): number {
  return Math.max(backoff(RETRY, inARow), (failure.kind === "rateLimited" && failure.retryAfterMs) || 0);
}
