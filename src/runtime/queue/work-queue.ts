import type { Clock, Random } from "../clock.ts";
import { type BackoffPolicy, backoff } from "./backoff.ts";
import { Heap } from "./heap.ts";

/** `fresh`: something changed. `resync`: a look that nobody waits for, such as the initial list. */
export type Priority = "fresh" | "resync";

export interface AddOptions {
  /** Run no earlier than this, unless another `add` asks for less. */
  readonly afterMs?: number;
  readonly priority?: Priority;
}

/** What a queue tells about itself; metrics implement it. */
export interface QueueObserver {
  /** Called once: `read` gives the number of keys that could run now but have no worker. */
  depthFrom(read: () => number): void;
  /** A key that was not queued has been queued. */
  added(): void;
  /** A run failed and its key will be tried again. */
  retried(): void;
  /** A run starts, this long after it could have. */
  started(waitedMs: number): void;
  finished(workedMs: number): void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly backoff?: BackoffPolicy;
  readonly observer?: QueueObserver;
}

/** A key's wish to run. Never changed, only replaced, so its place in a heap stays true. */
interface Turn<K> {
  readonly key: K;
  readonly due: number;
  readonly order: number;
  readonly priority: Priority;
}

interface Run {
  readonly startedAt: number;
  readonly priority: Priority;
}

/**
 * A first retry after 100–200 ms hides a conflict or a blip from whoever watches; eleven doublings later
 * the cap still notices within five minutes that an outage of hours is over.
 */
const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 200, capMs: 300_000 };

/** One resync starts after this many fresh keys in a row, so that a stream of events can't starve resyncs. */
const FRESH_PER_RESYNC = 8;

/** `setTimeout` fires at once when asked to wait longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Keys that want to run, each at most once. It guarantees that
 * - a key never runs twice at once, and one added while it runs, runs exactly once more;
 * - of several times asked for, the earliest wins, and `fresh` wins over `resync`;
 * - a failed key waits longer with every failure in a row, and success resets that. An event may still run
 *   it earlier (it may bring the cure), but does not shorten the wait after the next failure;
 * - keys of one priority start in the order in which they became due, `fresh` ones first.
 *
 * Keys are compared as `Map` does, so use strings. One timer is armed, and only while a worker waits.
 */
export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: BackoffPolicy;
  readonly #observer: QueueObserver | undefined;
  readonly #turns = new Map<K, Turn<K>>();
  readonly #runs = new Map<K, Run>();
  readonly #failures = new Map<K, number>();
  readonly #delayed = new Heap<Turn<K>>(byDueTime);
  readonly #ready = { fresh: new Heap<Turn<K>>(byDueTime), resync: new Heap<Turn<K>>(byDueTime) };
  readonly #takers: ((key: K | undefined) => void)[] = [];
  #freshInARow = 0;
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

  /** How many keys could run now but have no worker. */
  get depth(): number {
    this.#promote();
    return this.#ready.fresh.size + this.#ready.resync.size;
  }

  add(key: K, { afterMs = 0, priority = "fresh" }: AddOptions = {}): void {
    if (Number.isNaN(afterMs)) throw new RangeError(`the delay of ${key} is not a number`);
    this.#want(key, { due: this.#clock.monotonic() + Math.max(0, afterMs), priority });
    this.#dispatch();
  }

  /**
   * The next key, as soon as there is one; `undefined` once the queue is closed. Whoever takes a key owes
   * it exactly one `succeed` or `fail`; until then nobody else gets that key.
   */
  take(): Promise<K | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#dispatch();
    });
  }

  /** The run is over and its key's failures are forgotten; with `afterMs` it runs again by then. */
  succeed(key: K, afterMs?: number): void {
    if (Number.isNaN(afterMs)) throw new RangeError(`the delay of ${key} is not a number`);
    const run = this.#finish(key);
    this.#failures.delete(key);
    this.#resume(key, afterMs === undefined ? undefined : { afterMs, priority: run.priority });
  }

  /**
   * The run failed: its key waits for its backoff, on top of the `atLeastMs` that a server asked for, so
   * that keys turned away together do not come back together. Returns the wait and the failures in a row.
   */
  fail(key: K, atLeastMs = 0): { readonly retryInMs: number; readonly failures: number } {
    const run = this.#finish(key);
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const retryInMs = atLeastMs + backoff(this.#backoff, failures, this.#random);
    this.#observer?.retried();
    this.#resume(key, { afterMs: retryInMs, priority: run.priority });
    return { retryInMs, failures };
  }

  /** No key is handed out any more; every `take` ends with `undefined`. */
  close(): void {
    this.#closed = true;
    this.#dispatch();
  }

  #finish(key: K): Run {
    const run = this.#runs.get(key);
    if (!run) throw new Error(`${key} is not running`);
    this.#runs.delete(key);
    this.#observer?.finished(this.#clock.monotonic() - run.startedAt);
    return run;
  }

  /** Merges what was asked for while the key ran with what its run asked for. */
  #resume(key: K, wish: Required<AddOptions> | undefined): void {
    const parked = this.#turns.get(key);
    if (parked) this.#schedule(parked);
    if (wish) this.add(key, wish);
    else this.#dispatch();
  }

  #want(key: K, { due, priority }: Pick<Turn<K>, "due" | "priority">): void {
    const turn = this.#turns.get(key);
    const earliest = turn ? Math.min(turn.due, due) : due;
    const strongest = turn?.priority === "fresh" ? "fresh" : priority;
    if (turn && turn.due === earliest && turn.priority === strongest) return;
    if (turn) this.#unschedule(turn);
    else this.#observer?.added();
    const next = { key, due: earliest, order: turn?.order ?? this.#order++, priority: strongest };
    this.#turns.set(key, next);
    if (!this.#runs.has(key)) this.#schedule(next);
  }

  #schedule(turn: Turn<K>): void {
    if (turn.due <= this.#clock.monotonic()) this.#ready[turn.priority].push(turn);
    else this.#delayed.push(turn);
  }

  #unschedule(turn: Turn<K>): void {
    this.#ready[turn.priority].delete(turn);
    this.#delayed.delete(turn);
  }

  /** Moves what has become due from the delayed keys to the ready ones. */
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

  #nextTurn(): Turn<K> | undefined {
    const { fresh, resync } = this.#ready;
    const resyncsTurn = resync.size > 0 && (fresh.size === 0 || this.#freshInARow >= FRESH_PER_RESYNC);
    this.#freshInARow = resyncsTurn || resync.size === 0 ? 0 : this.#freshInARow + 1;
    return resyncsTurn ? resync.shift() : fresh.shift();
  }

  #start({ key, due, priority }: Turn<K>): K {
    const now = this.#clock.monotonic();
    this.#turns.delete(key);
    this.#runs.set(key, { startedAt: now, priority });
    this.#observer?.started(now - due);
    return key;
  }

  #arm(): void {
    const due = this.#takers.length > 0 ? this.#delayed.first?.due : undefined;
    if (due === this.#alarm?.due) return;
    this.#alarm?.cancel();
    this.#alarm = due === undefined ? undefined : { due, cancel: this.#setAlarm(due) };
  }

  #setAlarm(due: number): () => void {
    // It may have become due since it was found not to be: Node warns of a timer in the past.
    const wait = Math.max(0, Math.min(Math.ceil(due - this.#clock.monotonic()), LONGEST_TIMER_MS));
    return this.#clock.setTimer(() => {
      this.#alarm = undefined;
      this.#dispatch();
    }, wait);
  }
}

function byDueTime(a: Turn<string>, b: Turn<string>): number {
  return a.due - b.due || a.order - b.order;
}
