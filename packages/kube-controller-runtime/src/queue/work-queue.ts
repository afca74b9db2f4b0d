import { type BackoffPolicy, backoff } from "../backoff.ts";
import { type Clock, MAX_TIMER_MS, type Random } from "../clock.ts";
import { Heap } from "./heap.ts";

const PRIORITIES = ["new", "fresh", "start", "resync"] as const;

/**
 * Why a key is to run, in order of precedence:
 * - `new`: the first status of an object, which is fast and reports that it was seen;
 * - `fresh`: something changed;
 * - `start`: the work for an object that only has its first status;
 * - `resync`: a run that is not urgent, such as after the initial list.
 */
export type Priority = (typeof PRIORITIES)[number];

export interface AddOptions {
  /** Minimum delay, unless another `add` requests a shorter one. */
  readonly afterMs?: number;
  readonly priority?: Priority;
}

/** Observes a queue; metrics implement it. */
export interface QueueObserver {
  /** Called once: `read` returns the number of keys that are ready but have no worker. */
  depthFrom(read: () => number): void;
  /** A key was added to the queue. */
  added(): void;
  /** A run failed and its key will be retried. */
  retried(): void;
  /** A run starts after waiting for this time. */
  started(waitedMs: number): void;
  finished(workedMs: number): void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly backoff?: BackoffPolicy;
  readonly observer?: QueueObserver;
}

/** A queued key. Replaced rather than changed, so that its place in a heap stays valid. */
interface Turn {
  readonly key: string;
  readonly due: number;
  readonly order: number;
  readonly priority: Priority;
}

interface Run {
  readonly startedAt: number;
  readonly priority: Priority;
}

/**
 * A first retry after 100–200 ms hides a conflict or a short failure from users; after eleven doublings, the
 * cap still detects the end of a long outage within five minutes.
 */
const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 200, capMs: 300_000 };

/** After this many consecutive keys that took precedence, one of the others runs. */
const MAX_CONSECUTIVE = 8;

/**
 * Maximum number of objects that are started concurrently: enough to use the server's capacity, few enough
 * that each makes progress.
 */
const MAX_STARTS = 8;

/** A longer run waits for something other than the API server, and does not delay the start of others. */
const START_MS = 2_000;

/**
 * A queue of keys, each contained at most once. It guarantees that
 * - a key never runs concurrently, and a key that is added while it runs, runs exactly once more;
 * - of several requested times, the earliest wins, and so does the highest priority;
 * - the delay of a failed key grows with every consecutive failure, and a success resets it. An event may run
 *   it earlier (it may resolve the failure), but does not shorten the delay after the next failure;
 * - keys run by priority and then in the order in which they became due, and no key starves.
 *
 * If many objects were created at once and run in the order of events, all would be started before any is
 * finished. Therefore two more rules apply:
 * - every object gets its first status before any work is started: nothing is started while a first status is
 *   pending or active. The run after the first status is a `start`, every later one is `fresh`;
 * - objects that were started take precedence over new starts, and only a few are started concurrently. So
 *   objects finish one after the other, and the first long before the last.
 *
 * At most one timer is armed, and only while a worker waits.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffPolicy;
  readonly #observer: QueueObserver | undefined;
  readonly #turns = new Map<string, Turn>();
  readonly #runs = new Map<string, Run>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new Heap<Turn>(byDueTime);
  readonly #ready: Readonly<Record<Priority, Heap<Turn>>> = {
    new: new Heap(byDueTime),
    fresh: new Heap(byDueTime),
    start: new Heap(byDueTime),
    resync: new Heap(byDueTime),
  };
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #inARow = 0;
  #order = 0;
  #alarm: { readonly due: number; readonly cancel: () => void } | undefined;
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#backoff = options.backoff ?? DEFAULT_BACKOFF;
    this.#observer = options.observer;
    this.#observer?.depthFrom(() => this.depth);
  }

  /** The number of keys that are ready but have no worker. */
  get depth(): number {
    this.#promote();
    return Object.values(this.#ready).reduce((sum, { size }) => sum + size, 0);
  }

  add(key: string, { afterMs = 0, priority = "fresh" }: AddOptions = {}): void {
    if (Number.isNaN(afterMs)) throw new RangeError(`the delay of ${key} is not a number`);
    this.#want(key, { due: this.#clock.monotonic() + Math.max(0, afterMs), priority });
    this.#dispatch();
  }

  /**
   * The next key, as soon as there is one; `undefined` once the queue is closed. For each key, the caller
   * must call `succeed` or `fail` exactly once; until then the key is not returned again.
   */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#dispatch();
    });
  }

  /** The run succeeded: its failures are forgotten; with `afterMs` it runs again by then. */
  succeed(key: string, afterMs?: number): void {
    if (Number.isNaN(afterMs)) throw new RangeError(`the delay of ${key} is not a number`);
    const run = this.#finish(key);
    this.#failures.delete(key);
    this.#resume(key, afterMs === undefined ? undefined : { afterMs, priority: AFTER[run.priority] });
  }

  /**
   * The run failed: its key waits for its backoff, in addition to the `minDelayMs` that a server asked for,
   * so that keys that were rejected together do not return together. Returns the delay and the number of
   * consecutive failures.
   */
  fail(key: string, minDelayMs = 0): { readonly retryInMs: number; readonly failures: number } {
    const run = this.#finish(key);
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const retryInMs = minDelayMs + backoff(this.#backoff, failures, this.#random);
    this.#observer?.retried();
    this.#resume(key, { afterMs: retryInMs, priority: run.priority });
    return { retryInMs, failures };
  }

  /** Returns no more keys; every `take` resolves with `undefined`. */
  close(): void {
    this.#closed = true;
    this.#dispatch();
  }

  #finish(key: string): Run {
    const run = this.#runs.get(key);
    if (!run) throw new Error(`${key} is not running`);
    this.#runs.delete(key);
    this.#observer?.finished(this.#clock.monotonic() - run.startedAt);
    return run;
  }

  /** Merges what was requested while the key ran with the result of the run. */
  #resume(key: string, options: Required<AddOptions> | undefined): void {
    const parked = this.#turns.get(key);
    if (parked) this.#schedule(parked);
    if (options) this.add(key, options);
    else this.#dispatch();
  }

  #want(key: string, { due, priority }: Pick<Turn, "due" | "priority">): void {
    const turn = this.#turns.get(key);
    const earliest = turn ? Math.min(turn.due, due) : due;
    const strongest = PRIORITIES.find((each) => each === turn?.priority || each === priority) ?? priority;
    if (turn && turn.due === earliest && turn.priority === strongest) return;
    if (turn) {
      this.#ready[turn.priority].delete(turn);
      this.#delayed.delete(turn);
    } else this.#observer?.added();
    const next = { key, due: earliest, order: turn?.order ?? this.#order++, priority: strongest };
    this.#turns.set(key, next);
    if (!this.#runs.has(key)) this.#schedule(next);
  }

  #schedule(turn: Turn): void {
    if (turn.due <= this.#clock.monotonic()) this.#ready[turn.priority].push(turn);
    else this.#delayed.push(turn);
  }

  /** Moves keys that have become due from the delayed to the ready ones. */
  #promote(): void {
    const now = this.#clock.monotonic();
    for (let turn = this.#delayed.first; turn && turn.due <= now; turn = this.#delayed.first) {
      this.#delayed.delete(turn);
      this.#ready[turn.priority].push(turn);
    }
  }

  #dispatch(): void {
    if (this.#closed) for (const taker of this.#takers.splice(0)) taker(undefined);
    else this.#promote();
    while (this.#takers.length > 0) {
      const turn = this.#nextTurn();
      if (!turn) break;
      this.#takers.shift()?.(this.#start(turn));
    }
    this.#arm();
  }

  #nextTurn(): Turn | undefined {
    const waiting = PRIORITIES.filter((priority) => this.#ready[priority].size > 0);
    const [first, ...others] = waiting.filter((priority) => priority !== "start" || this.#mayStart());
    if (!first) return undefined;
    this.#inARow = others.length === 0 ? 0 : this.#inARow + 1;
    if (this.#inARow <= MAX_CONSECUTIVE) return this.#ready[first].shift();
    this.#inARow = 0;
    const dueOf = (priority: Priority) => this.#ready[priority].first?.due ?? Number.POSITIVE_INFINITY;
    const longest = others.reduce((a, b) => (dueOf(b) < dueOf(a) ? b : a));
    return this.#ready[longest].shift();
  }

  #mayStart(): boolean {
    if (this.#ready.new.size > 0) return false;
    const { count, hasNew } = this.#recentStarts();
    return !hasNew && count < MAX_STARTS;
  }

  /** The active starts and first statuses that began recently. */
  #recentStarts(): { readonly count: number; readonly hasNew: boolean; readonly earliest: number } {
    const since = this.#clock.monotonic() - START_MS;
    let [count, hasNew, earliest] = [0, false, Number.POSITIVE_INFINITY];
    for (const { priority, startedAt } of this.#runs.values()) {
      if (startedAt <= since || (priority !== "new" && priority !== "start")) continue;
      if (priority === "new") hasNew = true;
      else count++;
      earliest = Math.min(earliest, startedAt);
    }
    return { count, hasNew, earliest };
  }

  /** The earliest time at which a start may become possible without a run ending. */
  #nextStart(): number {
    if (this.#ready.start.size === 0 || this.#mayStart()) return Number.POSITIVE_INFINITY;
    return this.#recentStarts().earliest + START_MS;
  }

  #start({ key, due, priority }: Turn): string {
    const now = this.#clock.monotonic();
    this.#turns.delete(key);
    this.#runs.set(key, { startedAt: now, priority });
    this.#observer?.started(now - due);
    return key;
  }

  #arm(): void {
    const next = Math.min(this.#delayed.first?.due ?? Number.POSITIVE_INFINITY, this.#nextStart());
    const due = this.#takers.length > 0 && Number.isFinite(next) ? next : undefined;
    if (due === this.#alarm?.due) return;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    if (due === undefined) return;
    // It may have become due in the meantime: Node.js warns about timers in the past.
    const wait = Math.max(0, Math.min(Math.ceil(due - this.#clock.monotonic()), MAX_TIMER_MS));
    const ring = () => {
      this.#alarm = undefined;
      this.#dispatch();
    };
    this.#alarm = { due, cancel: this.#clock.setTimer(ring, wait) };
  }
}

/** The priority of the run after a run that requests another. */
const AFTER: Readonly<Record<Priority, Priority>> = {
  new: "start",
  fresh: "fresh",
  start: "fresh",
  resync: "resync",
};

function byDueTime(a: Turn, b: Turn): number {
  return a.due - b.due || a.order - b.order;
}
