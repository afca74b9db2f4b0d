import type { Client } from "../client/client.ts";
import { ApiError } from "../client/error.ts";
import type { Clock, Random } from "../clock.ts";
import { messageOf, NotLeaderError } from "../errors.ts";
import type { Lease } from "../kinds.ts";
import type { Logger } from "../log.ts";
import type { ObjectRef, Stored } from "../object.ts";
import { LeaseLock, LeaseObservation } from "./lease.ts";

export interface LeaseTiming {
  /** Others may take the lease when it was not renewed for this long. */
  readonly durationMs: number;
  /** The holder stops by itself when it could not renew for this long; shorter than `durationMs`. */
  readonly renewDeadlineMs: number;
  /** The longest pause between two attempts to acquire or renew. */
  readonly retryMs: number;
}

export interface LeaderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly lease: ObjectRef & { readonly namespace: string };
  /** Unique to this process: see `candidateIdentity`. */
  readonly identity: string;
  readonly timing?: LeaseTiming;
  /** Called with the reason of every request for the lease that fails. */
  readonly onFailure?: ((reason: string) => void) | undefined;
}

/** A failure that goes on is logged again after this time: whoever reads the end of a log must find it. */
const REPEAT_WARNING_MS = 60_000;

const DEFAULT_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/**
 * A lease this process holds, and when it began to ask for it. Both clocks are kept, because a machine's
 * suspension shows only on the wall clock, and the wall clock can be set back.
 */
interface Claim {
  readonly lease: Stored<Lease>;
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * A candidate for leadership by a Lease. It guarantees that
 * - `isLeader()` is true for at most one candidate at any time, as long as their clocks run at about the
 *   same speed; what time they show does not matter;
 * - a process that was stopped or cut off for longer than the renew deadline answers false from its first
 *   instruction on, and for good: leadership is had once, and its loss is final;
 * - after `release()` a standby leads within one retry.
 */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #timing: LeaseTiming;
  readonly #lock: LeaseLock;
  readonly #observation = new LeaseObservation();
  readonly #stop = new AbortController();
  readonly #lost = Promise.withResolvers<NotLeaderError>();
  /** Resolves when leadership that was held is lost; never after a `release()`. */
  readonly lost: Promise<NotLeaderError> = this.#lost.promise;
  #claim: Claim | undefined;
  #over = false;
  #underWay: Promise<boolean> | undefined;
  #failure: { readonly cause?: unknown } = {};
  #lastSaid = "";
  #lastSaidAt = 0;

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#timing = options.timing ?? DEFAULT_TIMING;
    this.#lock = new LeaseLock({ ...options, ref: options.lease, durationMs: this.#timing.durationMs });
  }

  /** The fencing check: whether a write sent now comes from the only leader. */
  isLeader(): boolean {
    return !this.#over && this.#timeLeft() > 0;
  }

  /** Resolves once this candidate leads, however long that takes; rejects when aborted or released. */
  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const stop = AbortSignal.any([signal, this.#stop.signal]);
    while (!(await this.#attempt(() => this.#tryToAcquire())) || !this.isLeader()) {
      await this.#options.clock.sleep(this.#pauseOfStandby(), stop);
    }
    this.#say("info", "became leader", this.#options.identity);
    void this.#keepRenewing();
  }

  /**
   * Gives leadership up, so that a standby need not wait for its expiry; also right after `acquire` was
   * aborted, because the lease may have been granted meanwhile. Never rejects, and takes half a renew deadline at
   * most: somebody who ends a process does not wait for long.
   */
  async release(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#stop.abort(new NotLeaderError("leadership was released"));
    await this.#within(this.#timing.renewDeadlineMs / 2, this.#letGo()).catch(() => {});
  }

  async #letGo(): Promise<void> {
    await this.#underWay;
    const lease = this.#timeLeft() > 0 ? this.#claim?.lease : undefined;
    if (lease) await this.#attempt(() => this.#lock.release(lease));
  }

  async #keepRenewing(): Promise<void> {
    while (!this.#over) {
      const pause = Math.min(this.#pause(), Math.max(0, this.#timeLeft()));
      await this.#options.clock.sleep(pause, this.#stop.signal).catch(() => {});
      if (this.#over) return;
      const held = this.isLeader() ? this.#claim?.lease : undefined;
      if (!held) return this.#lose(new NotLeaderError("the lease was not renewed in time", this.#failure));
      await this.#attempt(() => this.#lock.renew(held));
    }
  }

  #attempt(ask: () => Promise<Stored<Lease> | undefined>): Promise<boolean> {
    this.#underWay = this.#try(ask);
    return this.#underWay;
  }

  /** One bounded try. A failure is only logged: what counts is how long ago the last success was. */
  async #try(ask: () => Promise<Stored<Lease> | undefined>): Promise<boolean> {
    const { clock } = this.#options;
    const [wall, monotonic] = [clock.now(), clock.monotonic()];
    try {
      const lease = await this.#within(this.#attemptLimit(), ask());
      if (lease) this.#claim = { lease, wall, monotonic };
      this.#failure = {};
      return lease !== undefined;
    } catch (error) {
      this.#failure = { cause: error };
      if (error instanceof NotLeaderError) this.#lose(error);
      else this.#report(error);
      return false;
    }
  }

  async #tryToAcquire(): Promise<Stored<Lease> | undefined> {
    const { clock, identity } = this.#options;
    const lease = await this.#lock.read();
    const holder = lease?.spec?.holderIdentity;
    if (lease?.spec && holder) this.#observation.note(lease.spec, clock.monotonic(), this.#timing.durationMs);
    // A deleted lease does not stop its holder at once, so its time must run out all the same.
    const free = lease && (!holder || holder === identity);
    if (free || this.#observation.expiresInMs(clock.monotonic()) <= 0) return this.#lock.claim(lease);
    this.#say("info", "waiting for the leader", holder ?? "deleted lease");
    return undefined;
  }

  /** How long the claim still counts, from before it was asked for, by whichever clock moved further. */
  #timeLeft(): number {
    if (!this.#claim) return 0;
    const { clock } = this.#options;
    const elapsed = Math.max(clock.now() - this.#claim.wall, clock.monotonic() - this.#claim.monotonic);
    return this.#timing.renewDeadlineMs - elapsed;
  }

  /** Half a deadline leaves time for a second try; a leader must not wait past its own deadline. */
  #attemptLimit(): number {
    const half = this.#timing.renewDeadlineMs / 2;
    return this.isLeader() ? Math.min(half, this.#timeLeft()) : half;
  }

  /** Spreads candidates, and stays below the retry time so that request and answer fit in. */
  #pause(): number {
    return Math.round(this.#timing.retryMs * (0.6 + 0.3 * this.#options.random()));
  }

  /** A standby looks again at the very moment from which on it may lead. */
  #pauseOfStandby(): number {
    const untilExpiry = this.#observation.expiresInMs(this.#options.clock.monotonic());
    return untilExpiry > 0 ? Math.min(untilExpiry, this.#pause()) : this.#pause();
  }

  #within<T>(ms: number, answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const why = `no answer within ${Math.round(ms)} ms`;
      const expire = () => reject(new ApiError(why, { reason: "Timeout", code: 0 }));
      const cancel = this.#options.clock.setTimer(expire, ms);
      answer.then(resolve, reject).finally(cancel);
    });
  }

  #lose(reason: NotLeaderError): void {
    if (this.#over) return;
    this.#over = true;
    this.#lost.resolve(reason);
  }

  #report(error: unknown): void {
    this.#options.onFailure?.(error instanceof ApiError ? error.reason : "InternalError");
    this.#say("warn", "lease request failed", messageOf(error));
  }

  /** Logs what is new, and a warning once a minute: the same every two seconds is of no help. */
  #say(level: "info" | "warn", message: string, detail: string): void {
    const { clock, lease, log } = this.#options;
    const said = `${message}: ${detail}`;
    const isDue = level === "warn" && clock.monotonic() - this.#lastSaidAt >= REPEAT_WARNING_MS;
    if (said === this.#lastSaid && !isDue) return;
    log[level](said, { lease: lease.name, namespace: lease.namespace });
    this.#lastSaid = said;
    this.#lastSaidAt = clock.monotonic();
  }
}
