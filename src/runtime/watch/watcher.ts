import type { Client, Selection, WatchEvent } from "../client/client.ts";
import { ApiError, isExpired } from "../client/error.ts";
import type { Clock, Random } from "../clock.ts";
import type { Kind, KubeObject, Stored } from "../object.ts";
import { backoff } from "../queue/backoff.ts";

/**
 * What a watcher tells. A (re)list is bracketed by `init` and `initDone`: what was known before and does
 * not come as `initApply` in between was deleted while nobody looked. `initDelete` takes an `initApply`
 * back: the object was deleted while the list was on its way. Outside the brackets every change comes
 * exactly once and in order; `progress` tells that nothing else happened up to a version.
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
  /** Told why a list or watch failed and how long it waits, before it waits. */
  readonly onRetry?: (error: ApiError, waitMs: number) => void;
}

export interface WatchTiming {
  /** The server ends a watch after this time, plus up to as much again at random. */
  readonly serverTimeoutSeconds: number;
  /** Longer than the server's bookmark interval (75 s at most), so only a dead connection is this silent. */
  readonly silenceLimitMs: number;
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
}

const DEFAULT_TIMING: WatchTiming = {
  serverTimeoutSeconds: 240,
  silenceLimitMs: 90_000,
  retryBaseMs: 200,
  retryCapMs: 10_000,
};

const PAGE_SIZE = 500;
/** A watch that lived this long was healthy: its end is routine and needs no backoff. */
const HEALTHY_LIFETIME_MS = 5_000;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/**
 * Where the watcher stands.
 *
 *     empty ──list or streaming list──▶ listed ──watch──▶ listed (at a later version)
 *       ▲                                 │
 *       └────────── 410 Gone ─────────────┘
 *
 * Any other failure stays where it is and tries again after a backoff.
 */
type State = { readonly at: "empty" } | { readonly at: "listed"; readonly resourceVersion: string };

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
  #failures = 0;

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
        yield* this.#state.at === "empty" ? this.#initialise() : this.#follow(this.#state.resourceVersion);
      } catch (error) {
        if (signal.aborted) return;
        failure = toApiError(error);
        this.#recover(failure);
      }
      const healthy = clock.monotonic() - startedAt >= HEALTHY_LIFETIME_MS;
      await this.#pause(failure, healthy).catch(() => undefined);
    }
  }

  /** From `empty` to `listed`, by a streaming list where the server has it, else page by page. */
  #initialise(): AsyncGenerator<WatcherEvent<T>> {
    return this.#streamingList ? this.#streamInitialState() : this.#listPages();
  }

  async *#listPages(): AsyncGenerator<WatcherEvent<T>> {
    const { client, kind, selection, signal } = this.#options;
    yield { type: "init" };
    let continueToken: string | undefined;
    let resourceVersion: string;
    do {
      const page = await client.list(kind, { ...selection, limit: PAGE_SIZE, continueToken, signal });
      for (const object of page.items) yield { type: "initApply", object };
      ({ continueToken, resourceVersion } = page);
    } while (continueToken);
    this.#state = { at: "listed", resourceVersion };
    yield { type: "initDone", resourceVersion };
    yield* this.#follow(resourceVersion);
  }

  async *#streamInitialState(): AsyncGenerator<WatcherEvent<T>> {
    yield { type: "init" };
    let initialised = false;
    for await (const event of this.#open({ sendInitialEvents: true })) {
      if (initialised) {
        yield this.#advance(event);
      } else if (event.type !== "BOOKMARK") {
        yield { type: event.type === "DELETED" ? "initDelete" : "initApply", object: event.object };
      } else if (event.object.metadata.annotations?.[INITIAL_EVENTS_END] === "true") {
        initialised = true;
        const { resourceVersion } = event.object.metadata;
        this.#state = { at: "listed", resourceVersion };
        yield { type: "initDone", resourceVersion };
      }
    }
    // A server that ignores the parameter ends the watch without ever telling that the list is complete.
    if (!initialised) this.#streamingList = false;
  }

  async *#follow(resourceVersion: string): AsyncGenerator<WatcherEvent<T>> {
    for await (const event of this.#open({ resourceVersion })) yield this.#advance(event);
  }

  #open(from: { resourceVersion: string } | { sendInitialEvents: true }): AsyncIterable<WatchEvent<T>> {
    const { client, kind, selection, random, signal } = this.#options;
    const { serverTimeoutSeconds, silenceLimitMs } = this.#timing;
    return client.watch(kind, {
      ...selection,
      ...from,
      timeoutSeconds: Math.ceil(serverTimeoutSeconds * (1 + random())),
      idleTimeoutMs: silenceLimitMs,
      signal,
    });
  }

  #advance(event: WatchEvent<T>): WatcherEvent<T> {
    const { resourceVersion } = event.object.metadata;
    this.#state = { at: "listed", resourceVersion };
    if (event.type === "BOOKMARK") return { type: "progress", resourceVersion };
    return { type: event.type === "DELETED" ? "delete" : "apply", object: event.object };
  }

  #recover(failure: ApiError): void {
    if (isExpired(failure)) this.#state = EMPTY;
    else if (this.#state.at === "empty" && refusesStreaming(failure)) this.#streamingList = false;
  }

  /** Waits before the next try. The routine end of a watch that lived long enough costs no wait. */
  async #pause(failure: ApiError | undefined, healthy: boolean): Promise<void> {
    const { clock, random, signal, onRetry } = this.#options;
    this.#failures = healthy ? 0 : this.#failures + 1;
    if (healthy && !failure) return;
    const { retryBaseMs: baseMs, retryCapMs: capMs } = this.#timing;
    const waitMs = Math.max(failure?.retryAfter ?? 0, backoff({ baseMs, capMs }, this.#failures, random));
    if (failure) onRetry?.(failure, waitMs);
    await clock.sleep(waitMs, signal);
  }
}

/** Silence counts too: a server that ignores the parameter sends its objects and never says that these are all. */
function refusesStreaming(failure: ApiError): boolean {
  return failure.code === 400 || failure.code === 422 || failure.reason === "Timeout";
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("watch failed", { reason: "InternalError", code: 0, cause: error });
}
