import { type BackoffPolicy, backoff } from "../backoff.ts";
import { type Clock, MAX_TIMER_MS, type Random } from "../clock.ts";
import { Heap } from "./heap.ts";

const PRIORITIES = ["new", "fresh", "start", "resync"] as const;

/**
 * Why a key is to run, first come first:
 * - `new`: the first look at an object, which is quick and says that it was seen;
 * - `fresh`: something changed;
 * - `start`: the work for an object that had its first look and nothing else;
 * - `resync`: a look that nobody waits for, such as that at the initial list.
 */
export type Priority = (typeof PRIORITIES)[number];

export interface AddOptions {
  /** Run no earlier than this, unless another `add` asks for less. */
  readonly afterMs?: number;
  readonly priority?: Priority;
}

/** What a queue reports about itself; metrics implement it. */
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
 * A first retry after 100–200 ms hides a conflict or a blip from whoever watches; eleven doublings later
 * the cap still notices within five minutes that an outage of hours is over.
 */
const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 200, capMs: 300_000 };

/** After this many keys in a row that came before others by priority, one of those others has its turn. */
const MAX_CONSECUTIVE = 8;

/** So many objects are started at a time. Enough to keep a server busy, few enough that each gets somewhere. */
const MAX_STARTS = 8;

/** A run that takes longer waits for something else than the API server, and holds up nobody's start. */
const START_MS = 2_000;

/**
 * Keys that want to run, each at most once. It guarantees that
 * - a key never runs twice at once, and one added while it runs, runs exactly once more;
 * - of several times asked for, the earliest wins, and so does the strongest priority;
 * - a failed key waits longer with every failure in a row, and success resets that. An event may still run
 *   it earlier (it may bring the cure), but does not shorten the wait after the next failure;
 * - keys start by priority and then in the order in which they became due, and none waits for ever.
 *
 * A fleet that is made at once would, served in the order of events, be begun as a whole before anything of it is
 * done. So there are two rules more:
 * - every object has its first look before the work for any is started: nothing is started while a first look
 *   waits or is under way. A run after a first look is a `start`, every later one is `fresh`;
 * - what has been started goes on before anything else is started, and only a few are started at a time. So
 *   objects are finished one after the other, and the first long before the last.
 *
 * One timer is armed, and only while a worker waits.
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

  /** How many keys could run now but have no worker. */
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
   * The next key, as soon as there is one; `undefined` once the queue is closed. Whoever takes a key owes
   * it exactly one `succeed` or `fail`; until then nobody else gets that key.
   */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#dispatch();
    });
  }

  /** The run is over and its key's failures are forgotten; with `afterMs` it runs again by then. */
  succeed(key: string, afterMs?: number): void {
    if (Number.isNaN(afterMs)) throw new RangeError(`the delay of ${key} is not a number`);
    const run = this.#finish(key);
    this.#failures.delete(key);
    this.#resume(key, afterMs === undefined ? undefined : { afterMs, priority: AFTER[run.priority] });
  }

  /**
   * The run failed: its key waits for its backoff, on top of the `atLeastMs` that a server asked for, so
   * that keys turned away together do not come back together. Returns the wait and the failures in a row.
   */
  fail(key: string, atLeastMs = 0): { readonly retryInMs: number; readonly failures: number } {
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

  #finish(key: string): Run {
    const run = this.#runs.get(key);
    if (!run) throw new Error(`${key} is not running`);
    this.#runs.delete(key);
    this.#observer?.finished(this.#clock.monotonic() - run.startedAt);
    return run;
  }

  /** Merges what was asked for while the key ran with what its run asked for. */
  #resume(key: string, wish: Required<AddOptions> | undefined): void {
    const parked = this.#turns.get(key);
    if (parked) this.#schedule(parked);
    if (wish) this.add(key, wish);
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

  /** The starts and first looks that began a moment ago and are under way. */
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

  /** When a start may be possible that is not now, though no run ends. */
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
    // It may have become due since it was found not to be: Node warns of a timer in the past.
    const wait = Math.max(0, Math.min(Math.ceil(due - this.#clock.monotonic()), MAX_TIMER_MS));
    const ring = () => {
      this.#alarm = undefined;
      this.#dispatch();
    };
    this.#alarm = { due, cancel: this.#clock.setTimer(ring, wait) };
  }
}

/** What a run that asks for another makes of it. */
const AFTER: Readonly<Record<Priority, Priority>> = {
  new: "start",
  fresh: "fresh",
  start: "fresh",
  resync: "resync",
};

function byDueTime(a: Turn, b: Turn): number {
  return a.due - b.due || a.order - b.order;
}
