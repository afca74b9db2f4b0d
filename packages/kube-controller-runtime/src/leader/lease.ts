import { randomUUID } from "node:crypto";
import type { Client } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/error.ts";
import { find } from "../client/find.ts";
import type { Clock } from "../clock.ts";
import { NotLeaderError } from "../errors.ts";
import { Lease } from "../kinds.ts";
import type { ObjectRef, Stored } from "../object.ts";

type LeaseSpec = NonNullable<Lease["spec"]>;

/** The name of a candidate, unique across restarts on the same host. */
export function candidateIdentity(prefix: string, hostname: string): string {
  return `${prefix}-${hostname}_${randomUUID()}`;
}

export interface LeaseLockOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly ref: ObjectRef & { readonly namespace: string };
  readonly identity: string;
  readonly durationMs: number;
}

/**
 * A candidate's access to a Lease, in the format of client-go. Every write specifies the version that it
 * replaces, so only one of two concurrent writes succeeds.
 */
export class LeaseLock {
  readonly #options: LeaseLockOptions;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  read(): Promise<Stored<Lease> | undefined> {
    return find(this.#options.client, Lease, this.#options.ref);
  }

  /** Makes this candidate the holder, unless the lease has changed since it was `seen`. */
  async claim(seen: Stored<Lease> | undefined): Promise<Stored<Lease>> {
    const { client, ref } = this.#options;
    const spec = this.#claimedSpec(seen?.spec);
    if (seen) return this.#patch(seen, spec);
    return client.create(Lease, { metadata: { namespace: ref.namespace, name: ref.name }, spec });
  }

  /** Renews the lease that this candidate holds; throws `NotLeaderError` if it no longer does. */
  renew(held: Stored<Lease>): Promise<Stored<Lease>> {
    return this.#retryIfStillOurs(held, (lease) => this.claim(lease));
  }

  /** Releases the lease like client-go: no holder, and the minimum valid duration. */
  release(held: Stored<Lease>): Promise<Stored<Lease>> {
    const now = microTime(this.#options.clock.now());
    const spec = { holderIdentity: null, leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    return this.#retryIfStillOurs(held, (lease) => this.#patch(lease, spec));
  }

  /** A conflict may come from an own earlier write whose response was lost: check the holder. */
  async #retryIfStillOurs(
    held: Stored<Lease>,
    write: (lease: Stored<Lease>) => Promise<Stored<Lease>>,
  ): Promise<Stored<Lease>> {
    try {
      return await write(held);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
    const lease = await this.read();
    if (!lease) throw new NotLeaderError("the lease was deleted");
    const holder = lease.spec?.holderIdentity;
    if (holder !== this.#options.identity)
      throw new NotLeaderError(`the lease was acquired by ${holder || "no one"}`);
    return write(lease);
  }

  #patch(lease: Stored<Lease>, spec: object): Promise<Stored<Lease>> {
    const { client, ref } = this.#options;
    return client.mergePatch(Lease, ref, {
      metadata: { resourceVersion: lease.metadata.resourceVersion },
      spec,
    });
  }

  #claimedSpec(previous: LeaseSpec | undefined): LeaseSpec {
    const { clock, identity, durationMs } = this.#options;
    const now = microTime(clock.now());
    const renewal = previous?.holderIdentity === identity;
    const transitions = previous?.leaseTransitions ?? 0;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1_000),
      acquireTime: renewal ? (previous.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: previous && !renewal ? transitions + 1 : transitions,
    };
  }
}

/**
 * The state of another candidate's lease. Expiry is measured on the local monotonic clock from the moment
 * when this candidate saw the lease change: the times in the lease come from a clock that may be wrong.
 */
export class LeaseObservation {
  #seen: { readonly spec: string; readonly expiresAt: number } | undefined;

  /** Records the lease; only a change of its content counts as a renewal. */
  note(spec: LeaseSpec, monotonic: number, defaultDurationMs: number): void {
    const content = JSON.stringify(spec);
    if (content === this.#seen?.spec) return;
    const durationMs = (spec.leaseDurationSeconds ?? 0) * 1_000 || defaultDurationMs;
    this.#seen = { spec: content, expiresAt: monotonic + durationMs };
  }

  /** The time until the lease of the last seen holder expires; 0 if it has expired or there was none. */
  expiresInMs(monotonic: number): number {
    return this.#seen ? Math.max(0, this.#seen.expiresAt - monotonic) : 0;
  }
}

/** RFC 3339 with microseconds, the format of `metav1.MicroTime`. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
