import type { Clock } from "../../src/clock.ts";
import { ByteStream } from "./byte-stream.ts";
import { expired, type Failure, statusOf } from "./failure.ts";
import type { Predicate } from "./selectors.ts";
import { type FakeObject, type Storage, type StorageEvent, withVersion } from "./storage.ts";

/** The parameters of a watch. */
export interface WatchRequest {
  readonly resource: string;
  readonly matches: Predicate;
  /** Converts objects to the requested representation. */
  readonly view: (object: FakeObject) => object;
  /** `undefined` starts with the current state. */
  readonly fromVersion: number | undefined;
  /** Sends the bookmark at the end of the current state after this time. */
  readonly initialEndAfterMs: number | undefined;
  readonly bookmark: (version: number, annotations?: Record<string, string>) => object;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
}

const BOOKMARK_INTERVAL_MS = 60_000;

/** The body of one watch response. */
export class WatchFeed {
  readonly body = new ByteStream();
  readonly #request: WatchRequest;
  readonly #storage: Storage;
  readonly #whenOver: (() => void)[] = [];
  #cancelBookmark: () => void = () => {};

  constructor(request: WatchRequest, storage: Storage, clock: Clock) {
    this.#request = request;
    this.#storage = storage;
    if (request.fromVersion !== undefined && request.fromVersion < storage.oldestVersion) {
      this.#refuse(expired(`too old resource version: ${request.fromVersion} (${storage.oldestVersion})`));
      return;
    }
    this.#writePast(clock);
    this.#whenOver.push(storage.listen((event) => this.#write(event)));
    this.#whenOver.push(clock.setTimer(() => this.end(), request.timeoutMs));
    if (request.bookmarks) this.#scheduleBookmark(clock);
  }

  /** Calls back when the response is over; immediately if it already is. */
  whenOver(callback: () => void): void {
    if (this.body.ended) callback();
    else this.#whenOver.push(callback);
  }

  /** Ends the response like the server at the timeout of a watch. */
  end(): void {
    this.body.end();
    this.#cleanUp();
  }

  /** Breaks the connection. */
  fail(error: unknown): void {
    this.body.fail(error);
    this.#cleanUp();
  }

  #refuse(failure: Failure): void {
    this.#line("ERROR", statusOf(failure));
    this.body.end();
  }

  #writePast(clock: Clock): void {
    const { resource, fromVersion, matches, initialEndAfterMs } = this.#request;
    if (fromVersion !== undefined) {
      for (const event of this.#storage.since(fromVersion)) this.#write(event);
      return;
    }
    for (const object of this.#storage.all(resource).filter(matches)) this.#object("ADDED", object);
    if (initialEndAfterMs === 0) this.#endInitial();
    else if (initialEndAfterMs) {
      this.#whenOver.push(clock.setTimer(() => this.#endInitial(), initialEndAfterMs));
    }
  }

  #endInitial(): void {
    const { bookmark } = this.#request;
    this.#line("BOOKMARK", bookmark(this.#storage.version, { "k8s.io/initial-events-end": "true" }));
  }

  /** An object that starts or stops to match is added or deleted for this watch. */
  #write({ resource, version, before, after }: StorageEvent): void {
    const { matches, fromVersion = 0 } = this.#request;
    if (resource !== this.#request.resource || version <= fromVersion) return;
    const matched = before !== undefined && matches(before);
    if (after && matches(after)) this.#object(matched ? "MODIFIED" : "ADDED", after);
    else if (matched) this.#object("DELETED", withVersion(before, version));
  }

  #object(type: string, object: FakeObject): void {
    this.#line(type, this.#request.view(object));
  }

  #line(type: string, object: object): void {
    this.body.write(`${JSON.stringify({ type, object })}\n`);
  }

  /** A real server sends no bookmark to a watch that is up to date. */
  #scheduleBookmark(clock: Clock, from = this.#storage.version): void {
    this.#cancelBookmark = clock.setTimer(() => {
      const { version } = this.#storage;
      if (version > from) this.#line("BOOKMARK", this.#request.bookmark(version));
      this.#scheduleBookmark(clock, version);
    }, BOOKMARK_INTERVAL_MS);
  }

  #cleanUp(): void {
    this.#cancelBookmark();
    for (const callback of this.#whenOver.splice(0)) callback();
  }
}
