import type { Clock } from "../clock.ts";
import type { KubeObject } from "../object.ts";
import type { WatchEvent } from "./client.ts";
import { ApiError } from "./error.ts";
import { errorFromStatus, type StatusBody } from "./response.ts";

interface RawEvent<T extends KubeObject> {
  type: WatchEvent<T>["type"] | "ERROR";
  object: WatchEvent<T>["object"] | StatusBody;
}

/**
 * Splits a byte stream into lines in linear time, even if a line arrives in many chunks. An incomplete last
 * line is dropped.
 */
async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      pieces.push(text.slice(from, end));
      from = end + 1;
      yield pieces.join("");
      pieces = [];
    }
    if (from < text.length) pieces.push(text.slice(from));
  }
  if (pieces.join("").trim() !== "") {
    throw new ApiError("watch ended in the middle of an event", { reason: "InvalidResponse", code: 0 });
  }
}

/** Decodes a watch response. `ERROR` events and malformed lines are thrown as `ApiError`. */
export async function* watchEvents<T extends KubeObject>(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent<T>> {
  for await (const line of lines(chunks)) {
    if (line.trim() !== "") yield decodeEvent<T>(line);
  }
}

function decodeEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  let event: RawEvent<T>;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw new ApiError("watch received a line that is not JSON", {
      reason: "InvalidResponse",
      code: 0,
      cause,
    });
  }
  if (!event?.type || !event.object) {
    throw new ApiError("watch received a line that is not an event", { reason: "InvalidResponse", code: 0 });
  }
  if (event.type === "ERROR") throw errorFromStatus("watch", event.object as StatusBody, 0);
  return event as WatchEvent<T>;
}

/**
 * Passes events through and throws if none arrives within `limitMs`. It counts complete events, not bytes, so
 * a connection that only trickles is dead too. The server ends a healthy watch before the limit.
 */
export async function* failWhenSilent<E>(
  events: AsyncIterable<E>,
  watchdog: { clock: Clock; limitMs: number; abort: (reason: ApiError) => void },
): AsyncGenerator<E> {
  const { clock, limitMs, abort } = watchdog;
  const expire = () =>
    abort(new ApiError(`watch was silent for ${limitMs} ms`, { reason: "Timeout", code: 0 }));
  let cancel = clock.setTimer(expire, limitMs);
  try {
    for await (const event of events) {
      cancel();
      yield event;
      cancel = clock.setTimer(expire, limitMs);
    }
  } finally {
    cancel();
  }
}
