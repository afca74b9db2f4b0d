import type { Client } from "../client/client.ts";
import { ApiError } from "../client/error.ts";
import type { Clock, Random } from "../clock.ts";
import { messageOf, NotLeaderError } from "../errors.ts";
import type { Lease } from "../kinds.ts";
import type { Logger } from "../log.ts";
import type { ObjectRef, Stored } from "../object.ts";
import { LeaseLock, LeaseObservation } from "./lease.ts";

export interface LeaseTiming {
  /** Other candidates may acquire the lease if it was not renewed for this time. */
  readonly durationMs: number;
  /** The holder stops if it could not renew for this time; shorter than `durationMs`. */
  readonly renewDeadlineMs: number;
  /** Maximum interval between two attempts to acquire or renew. */
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
  /** Called with the reason of every failed request for the lease. */
  readonly onFailure?: ((reason: string) => void) | undefined;
}

/** A persistent failure is logged again after this time, so that it is near the end of the log. */
const REPEAT_WARNING_MS = 60_000;

const DEFAULT_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/**
 * A lease that this process holds, and when it was requested. Both clocks are recorded, because only the wall
 * clock shows that a machine was suspended, and the wall clock can be set back.
 */
interface Claim {
  readonly lease: Stored<Lease>;
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * A candidate for leadership by a Lease. It guarantees that
 * - `isLeader()` is true for at most one candidate at any time, if their clocks run at about the same rate;
 *   their absolute time does not matter;
 * - in a process that was stopped or disconnected for longer than the renew deadline, it is false from the
 *   first instruction on: leadership is acquired once, and its loss is permanent;
 * - after `release()` a standby leads within one retry interval.
 */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #timing: LeaseTiming;
  readonly #lock: LeaseLock;
  readonly #observation = new LeaseObservation();
  readonly #stop = new AbortController();
  readonly #lost = Promise.withResolvers<NotLeaderError>();
  /** Resolves when leadership is lost; never after a `release()`. */
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

  /** The fencing check: whether this process is the only leader now. */
  isLeader(): boolean {
    return !this.#over && this.#timeLeft() > 0;
  }

  /** Resolves once this candidate leads; rejects when aborted or released. */
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
   * Releases leadership, so that a standby need not wait for its expiry. Also valid after `acquire` was
   * aborted, because the lease may have been granted meanwhile. Never rejects, and takes at most half a renew
   * deadline.
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

  /**
   * One attempt with a time limit. A failure is only logged: what matters is the time of the last success.
   */
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
    // Deleting a lease does not stop its holder immediately, so it must expire first.
    const free = lease && (!holder || holder === identity);
    if (free || this.#observation.expiresInMs(clock.monotonic()) <= 0) return this.#lock.claim(lease);
    this.#say("info", "waiting for the leader", holder ?? "deleted lease");
    return undefined;
  }

  /** The remaining time of the claim, counted from the start of its request, by the clock that advanced more. */
  #timeLeft(): number {
    if (!this.#claim) return 0;
    const { clock } = this.#options;
    const elapsed = Math.max(clock.now() - this.#claim.wall, clock.monotonic() - this.#claim.monotonic);
    return this.#timing.renewDeadlineMs - elapsed;
  }

  /** Half a deadline allows a second attempt; a leader must not wait past its own deadline. */
  #attemptLimit(): number {
    const half = this.#timing.renewDeadlineMs / 2;
    return this.isLeader() ? Math.min(half, this.#timeLeft()) : half;
  }

  /** Randomized to spread candidates, and below the retry interval to allow for the request itself. */
  #pause(): number {
    return Math.round(this.#timing.retryMs * (0.6 + 0.3 * this.#options.random()));
  }

  /** A standby tries again exactly when it may acquire the lease. */
  #pauseOfStandby(): number {
    const untilExpiry = this.#observation.expiresInMs(this.#options.clock.monotonic());
    return untilExpiry > 0 ? Math.min(untilExpiry, this.#pause()) : this.#pause();
  }

  #within<T>(ms: number, answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const why = `no response within ${Math.round(ms)} ms`;
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

  /** Logs changes, and a warning once a minute. */
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
