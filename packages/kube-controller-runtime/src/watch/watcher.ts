import { backoff } from "../backoff.ts";
import type { Client, Page, Selection, WatchEvent } from "../client/client.ts";
import { ApiError, isExpired, isNotFound, isTooLarge } from "../client/error.ts";
import type { Clock, Random } from "../clock.ts";
import type { Kind, KubeObject, Stored } from "../object.ts";

/**
 * The events of a watcher. A (re)list is enclosed by `init` and `initDone`: an object that is known from
 * before and gets no `initApply` in between was deleted in the meantime. `initDelete` reverts an `initApply`:
 * the object was deleted during the list. Outside a list, every change is reported exactly once and in order;
 * `progress` means that there were no other changes up to a version.
 */
export type WatcherEvent<T extends KubeObject> =
  | { readonly type: "init" }
  | { readonly type: "initApply"; readonly object: Stored<T> }
  | { readonly type: "initDelete"; readonly object: Stored<T> }
  | { readonly type: "initDone"; readonly resourceVersion: string }
  | { readonly type: "apply"; readonly object: Stored<T> }
  | { readonly type: "delete"; readonly object: Stored<T> }
  | { readonly type: "progress"; readonly resourceVersion: string };

export interface WatcherOptions<T extends KubeObject> {
  readonly client: Client;
  readonly kind: Kind<T>;
  readonly selection?: Selection;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly timing?: Partial<WatchTiming>;
  /**
   * Called with the reason of a failed list or watch and the delay, before the delay. `expected` means that a
   * connection became silent for the first time, which a proxy can cause for a kind without changes.
   */
  readonly onRetry?: (error: ApiError, waitMs: number, expected: boolean) => void;
  /**
   * For a kind that the server may not serve: which errors mean that it is missing. By default, those of an
   * unknown kind.
   */
  readonly isMissing?: (error: ApiError) => boolean;
  /** An additional wait, beyond the backoff, while a kind is missing. */
  readonly whileMissing?: () => Promise<void>;
}

export interface WatchTiming {
  /** The server is asked to end a watch after this time, plus a random part of up to a third. */
  readonly serverTimeoutSeconds: number;
  /** If the server has not ended a watch by this time after its timeout, the connection is dead. */
  readonly graceMs: number;
  /** Maximum time between events of a streamed list. */
  readonly silenceLimitMs: number;
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
}

const DEFAULT_TIMING: WatchTiming = {
  serverTimeoutSeconds: 180,
  graceMs: 10_000,
  silenceLimitMs: 90_000,
  retryBaseMs: 200,
  retryCapMs: 10_000,
};

const PAGE_SIZE = 500;
/** A watch of at least this duration was healthy: its end needs no backoff. */
const HEALTHY_LIFETIME_MS = 5_000;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** Relist after this many silent watches. */
const MAX_SILENT_WATCHES = 2;

/**
 * The state of the watcher.
 *
 *     empty ──list or streaming list──▶ listed ──watch──▶ listed (at a later version)
 *       ▲ ▲                              │  ▲
 *       │ └── 410, twice silent ─────────┤  └─── the server is at this version or later ───┐
 *       │                                └── broken, or ended before its time ──▶ doubtful ┤
 *       └──────────────────── the server is at an older version ─────────────────────────┘
 *
 * How to tell a dead connection from a kind without changes: a server sends nothing for such a kind, not even
 * bookmarks, but it ends every watch after the requested time. TCP keep-alive detects dead peers within half
 * a minute; a watch that is not ended in time has another dead connection, such as to a proxy whose server is
 * gone.
 *
 * `doubtful`: etcd may have been restored to an older version while the connection was broken. A watch from a
 * future version would be silent until then, so the version is compared before the watch is resumed.
 *
 * After any other failure, the state does not change and the request is retried with backoff.
 */
type State =
  | { readonly at: "empty" }
  | { readonly at: "listed" | "doubtful"; readonly resourceVersion: string };

const EMPTY: State = { at: "empty" };

/**
 * Follows all objects of a selection until the signal is aborted, across all failures of the connection or
 * the server. It never throws, never misses a change and never retries in a hot loop.
 */
export function watcher<T extends KubeObject>(options: WatcherOptions<T>): AsyncGenerator<WatcherEvent<T>> {
  return new Watcher(options).run();
}

class Watcher<T extends KubeObject> {
  readonly #options: WatcherOptions<T>;
  readonly #timing: WatchTiming;
  #state: State = EMPTY;
  #streamingList = true;
  #pageSize = PAGE_SIZE;
  #failures = 0;
  #silences = 0;
  /** The last requested timeout. */
  #timeoutSeconds = 0;

  constructor(options: WatcherOptions<T>) {
    this.#options = options;
    this.#timing = { ...DEFAULT_TIMING, ...options.timing };
  }

  async *run(): AsyncGenerator<WatcherEvent<T>> {
    const { signal, clock } = this.#options;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      let failure: ApiError | undefined;
      try {
        yield* this.#proceed();
      } catch (error) {
        if (signal.aborted) return;
        const unforeseen = { reason: "InternalError", code: 0, cause: error };
        failure = error instanceof ApiError ? error : new ApiError("watch failed", unforeseen);
      }
      const livedMs = clock.monotonic() - startedAt;
      this.#recover(failure, livedMs);
      await this.#pause(failure, livedMs >= HEALTHY_LIFETIME_MS).catch(() => undefined);
    }
  }

  #proceed(): AsyncGenerator<WatcherEvent<T>> {
    const state = this.#state;
    if (state.at === "listed") return this.#follow(state.resourceVersion);
    if (state.at === "doubtful") return this.#followIfKnown(state.resourceVersion);
    // A streaming list if the server supports it.
    return this.#streamingList ? this.#streamInitialState() : this.#listPages();
  }

  async *#listPages(): AsyncGenerator<WatcherEvent<T>> {
    yield { type: "init" };
    let continueToken: string | undefined;
    let resourceVersion: string;
    do {
      const page: Page<T> = await this.#page(continueToken);
      for (const object of page.items) yield { type: "initApply", object };
      ({ continueToken, resourceVersion } = page);
    } while (continueToken);
    yield this.#listed(resourceVersion);
    yield* this.#follow(resourceVersion);
  }

  /** If a page is too large, it is requested again with fewer objects. */
  async #page(continueToken: string | undefined): Promise<Page<T>> {
    const { client, kind, selection, signal } = this.#options;
    for (;;) {
      try {
        return await client.list(kind, { ...selection, limit: this.#pageSize, continueToken, signal });
      } catch (error) {
        if (!isTooLarge(error) || this.#pageSize === 1) throw error;
        this.#pageSize = Math.ceil(this.#pageSize / 2);
      }
    }
  }

  async *#streamInitialState(): AsyncGenerator<WatcherEvent<T>> {
    const silence = new AbortController();
    const stopped = () => silence.abort(new ApiError("the list stopped", { reason: "Timeout", code: 0 }));
    const limit = () => this.#options.clock.setTimer(stopped, this.#timing.silenceLimitMs);
    let cancel = limit();
    yield { type: "init" };
    let initialized = false;
    try {
      for await (const event of this.#open({ sendInitialEvents: true }, silence.signal)) {
        cancel();
        if (initialized) {
          yield this.#advance(event);
        } else if (event.type !== "BOOKMARK") {
          yield { type: event.type === "DELETED" ? "initDelete" : "initApply", object: event.object };
        } else if (event.object.metadata.annotations?.[INITIAL_EVENTS_END] === "true") {
          initialized = true;
          yield this.#listed(event.object.metadata.resourceVersion);
        }
        if (!initialized) cancel = limit();
      }
    } finally {
      cancel();
    }
    // A server that ignores the parameter ends the watch without reporting that the list is complete.
    if (!initialized) this.#streamingList = false;
  }

  #listed(resourceVersion: string): WatcherEvent<T> {
    this.#state = { at: "listed", resourceVersion };
    return { type: "initDone", resourceVersion };
  }

  async *#follow(resourceVersion: string): AsyncGenerator<WatcherEvent<T>> {
    for await (const event of this.#open({ resourceVersion })) yield this.#advance(event);
  }

  async *#followIfKnown(resourceVersion: string): AsyncGenerator<WatcherEvent<T>> {
    const { client, kind, selection, signal } = this.#options;
    const newest = await client.list(kind, { ...selection, metadataOnly: true, limit: 1, signal });
    const isRewound = Number(newest.resourceVersion) < Number(resourceVersion);
    this.#state = isRewound ? EMPTY : { at: "listed", resourceVersion };
    if (!isRewound) yield* this.#follow(resourceVersion);
  }

  #open(
    from: { resourceVersion: string } | { sendInitialEvents: true },
    ...signals: readonly AbortSignal[]
  ): AsyncIterable<WatchEvent<T>> {
    const { client, kind, selection, random, signal } = this.#options;
    const { serverTimeoutSeconds, graceMs } = this.#timing;
    this.#timeoutSeconds = Math.ceil(serverTimeoutSeconds * (1 + random() / 3));
    return client.watch(kind, {
      ...selection,
      ...from,
      timeoutSeconds: this.#timeoutSeconds,
      idleTimeoutMs: this.#timeoutSeconds * 1_000 + graceMs,
      signal: AbortSignal.any([signal, ...signals]),
    });
  }

  #advance(event: WatchEvent<T>): WatcherEvent<T> {
    const { resourceVersion } = event.object.metadata;
    this.#state = { at: "listed", resourceVersion };
    this.#silences = 0;
    if (event.type === "BOOKMARK") return { type: "progress", resourceVersion };
    return { type: event.type === "DELETED" ? "delete" : "apply", object: event.object };
  }

  #recover(failure: ApiError | undefined, livedMs: number): void {
    const { at } = this.#state;
    if (at === "empty") {
      if (failure && refusesStreaming(failure)) this.#streamingList = false;
      return;
    }
    this.#silences = at === "listed" && failure?.reason === "Timeout" ? this.#silences + 1 : 0;
    const isLost = failure && (isExpired(failure) || isNotFound(failure) || this.#isMissing(failure));
    if (isLost || this.#silences >= MAX_SILENT_WATCHES) this.#state = EMPTY;
    else if (failure || livedMs < this.#timeoutSeconds * 1_000) {
      this.#state = { at: "doubtful", resourceVersion: this.#state.resourceVersion };
    }
  }

  /** Waits before the next attempt. After the normal end of a healthy watch there is no wait. */
  async #pause(failure: ApiError | undefined, healthy: boolean): Promise<void> {
    const { clock, random, signal, onRetry, whileMissing } = this.#options;
    this.#failures = healthy ? 0 : this.#failures + 1;
    if (healthy && !failure) return;
    const { retryBaseMs: baseMs, retryCapMs: capMs } = this.#timing;
    const waitMs = Math.max(failure?.retryAfter ?? 0, backoff({ baseMs, capMs }, this.#failures, random));
    if (failure) onRetry?.(failure, waitMs, this.#silences === 1);
    await clock.sleep(waitMs, signal);
    if (failure && this.#isMissing(failure)) await whileMissing?.();
  }

  #isMissing(failure: ApiError): boolean {
    return (this.#options.isMissing ?? isNotFound)(failure);
  }
}

/**
 * Silence counts too: a server that ignores the parameter sends its objects without marking the end of the
 * list.
 */
function refusesStreaming(failure: ApiError): boolean {
  return failure.code === 400 || failure.code === 422 || failure.reason === "Timeout";
}
