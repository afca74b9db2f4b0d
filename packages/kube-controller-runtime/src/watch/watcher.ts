import { backoff } from "../backoff.ts";
import type { Client, Page, Selection, WatchEvent } from "../client/client.ts";
import { ApiError, isExpired, isNotFound, isTooLarge } from "../client/error.ts";
import type { Clock, Random } from "../clock.ts";
import type { Kind, KubeObject, Stored } from "../object.ts";

/**
 * What a watcher reports. A (re)list is bracketed by `init` and `initDone`: what was known before and does
 * not come as `initApply` in between was deleted while nobody looked. `initDelete` takes an `initApply`
 * back: the object was deleted while the list was on its way. Outside the brackets every change comes
 * exactly once and in order; `progress` says that nothing else happened up to a version.
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
   * Called with why a list or watch failed and how long it waits, before it waits. `expected` says that a
   * connection fell silent for the first time, which a proxy on the way may have made of a quiet kind.
   */
  readonly onRetry?: (error: ApiError, waitMs: number, expected: boolean) => void;
  /** For a kind that the server may not serve: which failures say so. That it does not know the kind when absent. */
  readonly isMissing?: (error: ApiError) => boolean;
  /** Waits, beyond the backoff, until it is worth to ask again for a kind that is missing. */
  readonly whileMissing?: () => Promise<void>;
}

export interface WatchTiming {
  /** The server is asked to end a watch after this time, plus up to a third of it at random. */
  readonly serverTimeoutSeconds: number;
  /** A server that has not ended a watch so long after that time is not there any more. */
  readonly graceMs: number;
  /** A streamed list that stops for this long is not going to end. */
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
/** A watch that lived this long was healthy: its end is routine and needs no backoff. */
const HEALTHY_LIFETIME_MS = 5_000;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** So many watches in a row that fell silent are reason to list anew. */
const MAX_SILENT_WATCHES = 2;

/**
 * Where the watcher stands.
 *
 *     empty ──list or streaming list──▶ listed ──watch──▶ listed (at a later version)
 *       ▲ ▲                              │  ▲
 *       │ └── 410, twice silent ─────────┤  └─── the server is at this version or later ───┐
 *       │                                └── broken, or ended before its time ──▶ doubtful ┤
 *       └──────────────────── the server is at an older version ─────────────────────────┘
 *
 * How a dead connection differs from a quiet kind: a server sends nothing about a kind that nobody changes, not
 * even bookmarks, but it ends every watch after the time that was asked for. Dead peers are found by TCP
 * keep-alive within half a minute; what keeps its connection open and does not end the watch in time, such as a
 * proxy whose server is gone, by that.
 *
 * `doubtful`: etcd may have been restored to an older version while the connection was broken. A watch from a
 * version that is yet to come is silent until then, so the version is compared before it is resumed.
 *
 * Any other failure stays where it is and tries again after a backoff.
 */
type State =
  | { readonly at: "empty" }
  | { readonly at: "listed" | "doubtful"; readonly resourceVersion: string };

const EMPTY: State = { at: "empty" };

/**
 * Follows all objects of a selection until the signal is aborted, through every failure of the
 * connection or the server. It never throws, never skips a change and never retries in a hot loop.
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
  /** What the server was last asked for. */
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
    // A streaming list where the server has it.
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

  /** A page of objects too large to be taken at once is asked for again with fewer of them. */
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
    // A server that ignores the parameter ends the watch without ever reporting that the list is complete.
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

  /** Waits before the next try. The routine end of a watch that lived long enough costs no wait. */
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

/** Silence counts too: a server that ignores the parameter sends its objects and never says that these are all. */
function refusesStreaming(failure: ApiError): boolean {
  return failure.code === 400 || failure.code === 422 || failure.reason === "Timeout";
}
