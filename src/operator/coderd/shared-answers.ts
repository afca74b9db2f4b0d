import { backoff, type Clock, fingerprint } from "kube-controller-runtime";
import type { CoderFailure } from "../../coder/failure.ts";
import type { Result } from "../../coder/result.ts";

/** A query, and the maximum age of the result. */
export interface Question<T> extends Subject {
  /** 0 always sends a request, or joins a running one. */
  readonly maxAgeMs: number;
  readonly ask: () => Promise<Result<T, CoderFailure>>;
}

/** Results are shared between callers for which all of these are the same. */
export interface Subject {
  readonly url: string;
  readonly token: string;
  /** The requested objects, such as the daemons of an organization. */
  readonly what: string;
}

interface Seen<T> {
  readonly seen: true;
  readonly value: T;
  /** Time of the request. */
  readonly at: number;
  readonly tookMs: number;
}

export type Observation<T> =
  | Seen<T>
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

type Update = (value: unknown) => unknown;

interface Known {
  readonly url: string;
  asking?: Promise<Observation<unknown>>;
  /** Changes that this process made in coderd during the request, which the result may not contain. */
  updates: Update[];
  last?: Seen<unknown>;
  /** Approximate size of the last result. */
  bytes: number;
  failed?: { readonly failure: CoderFailure; readonly inARow: number; readonly retryAt: number };
  usedAt: number;
}

const RETRY = { baseMs: 2_000, capMs: 60_000 };

/** Limits the time that coderd spends on one request to a twentieth, however slow it is. */
const REST_PER_REQUEST = 20;
const MAX_PAUSE_MS = 120_000;

const FORGET_AFTER_MS = 10 * 60_000;

/** Maximum size of all results together. A tenant's coderd may send lists that are as long as it likes. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/**
 * Shares requests to coderd between objects: callers that ask during a request or soon afterwards receive the
 * same result. Its state only saves requests.
 */
export class SharedAnswers {
  readonly #clock: Clock;
  readonly #maxKeptBytes: number;
  readonly #known = new Map<string, Known>();
  #sweptAt = 0;
  #keptBytes = 0;

  constructor(clock: Clock, maxKeptBytes = MAX_KEPT_BYTES) {
    this.#clock = clock;
    this.#maxKeptBytes = maxKeptBytes;
  }

  async ask<T>(question: Question<T>): Promise<Observation<T>> {
    const now = this.#clock.now();
    this.#sweep(now);
    const known = this.#of(question);
    known.usedAt = now;
    const asking = known.asking as Promise<Observation<T>> | undefined;
    if (asking) return asking;
    const remembered = question.maxAgeMs > 0 ? remember(known, question.maxAgeMs, now) : undefined;
    if (remembered) return remembered as Observation<T>;
    const asked = this.#ask(question, known).finally(() => {
      delete known.asking;
    });
    known.asking = asked;
    return asked;
  }

  /** Applies a change that this process just made in coderd to the result. `update` must be idempotent. */
  update<T>(subject: Subject, update: (value: T) => T): void {
    const known = this.#of(subject);
    if (known.asking) known.updates.push(update as Update);
    if (known.last) known.last = { ...known.last, value: update(known.last.value as T) };
  }

  async #ask<T>({ ask }: Question<T>, known: Known): Promise<Observation<T>> {
    const at = this.#clock.now();
    known.updates = [];
    const answer = await ask();
    const now = this.#clock.now();
    if (answer.ok) {
      delete known.failed;
      const value = known.updates.reduce((latest, update) => update(latest), answer.value as unknown) as T;
      const seen: Seen<T> = { seen: true, value, at, tookMs: now - at };
      this.#keep(known, seen);
      this.#dropLargest();
      return seen;
    }
    const { failure } = answer;
    const inARow = (known.failed?.inARow ?? 0) + 1;
    const retryInMs = pauseAfter(failure, inARow);
    known.failed = { failure, inARow, retryAt: now + retryInMs };
    return { seen: false, failure, inARow, retryInMs };
  }

  #of({ url, token, what }: Subject): Known {
    const key = fingerprint([url, token, what]);
    const known: Known = this.#known.get(key) ?? { url, updates: [], bytes: 0, usedAt: 0 };
    this.#known.set(key, known);
    return known;
  }

  #keep(known: Known, seen: Seen<unknown> | undefined): void {
    if (seen) known.last = seen;
    else delete known.last;
    this.#keptBytes -= known.bytes;
    known.bytes = seen ? sizeOf(seen.value) : 0;
    this.#keptBytes += known.bytes;
  }

  /** The coderd that takes the most space is asked more often; the others notice nothing. */
  #dropLargest(): void {
    while (this.#keptBytes > this.#maxKeptBytes) {
      const byCoderd = Map.groupBy(this.#known.values(), ({ url }) => url).values();
      const [most = []] = [...byCoderd].sort((a, b) => totalOf(b) - totalOf(a));
      const [largest] = most.toSorted((a, b) => b.bytes - a.bytes);
      if (!largest) return;
      this.#keep(largest, undefined);
    }
  }

  /** Drops all results that are no longer used, because they are large. */
  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < FORGET_AFTER_MS) return;
    this.#sweptAt = now;
    for (const [key, known] of this.#known) {
      if (known.asking || now - known.usedAt < FORGET_AFTER_MS) continue;
      this.#keep(known, undefined);
      this.#known.delete(key);
    }
  }
}

function totalOf(known: readonly Known[]): number {
  return known.reduce((sum, { bytes }) => sum + bytes, 0);
}

const [BYTES_PER_STRING, BYTES_PER_VALUE, BYTES_PER_OBJECT] = [24, 8, 64];

/** Approximate memory of a decoded response. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return BYTES_PER_STRING + value.length;
  if (typeof value !== "object" || value === null) return BYTES_PER_VALUE;
  return Object.values(value).reduce<number>((sum, part) => sum + sizeOf(part), BYTES_PER_OBJECT);
}

/** Returns a result that is still valid. After the clock was set back, no result is valid. */
function remember({ last, failed }: Known, maxAgeMs: number, now: number): Observation<unknown> | undefined {
  if (failed) {
    const { retryAt, ...known } = failed;
    return retryAt > now ? { seen: false, ...known, retryInMs: retryAt - now } : undefined;
  }
  if (!last || now < last.at) return undefined;
  const restMs = Math.min(last.tookMs * REST_PER_REQUEST, MAX_PAUSE_MS);
  return now - last.at < Math.max(maxAgeMs, restMs) ? last : undefined;
}

function pauseAfter(failure: CoderFailure, inARow: number): number {
  return Math.max(backoff(RETRY, inARow), (failure.kind === "rateLimited" && failure.retryAfterMs) || 0);
}
