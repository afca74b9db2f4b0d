import type { Transport, TransportRequest, TransportResponse } from "../src/client/transport.ts";
import type { Clock } from "../src/clock.ts";

/** Intercepts a request: may respond itself, pass the request on, or damage the response. */
export type Fault = (
  request: TransportRequest,
  pass: () => Promise<TransportResponse>,
) => Promise<TransportResponse>;

/** A transport that wraps another one, counts requests and fails on demand. */
export class FaultyTransport implements Transport {
  /** Applies to every request until it is unset. */
  fault: Fault | undefined;
  readonly requests: TransportRequest[] = [];
  /** Requests with a response, in the order of the responses. */
  readonly answered: { readonly request: TransportRequest; readonly status: number }[] = [];
  readonly #inner: Transport;
  readonly #watches = new Set<(error: Error) => void>();

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    this.requests.push(request);
    const pass = () => this.#inner.send(request);
    const response = await (this.fault ? this.fault(request, pass) : pass());
    this.answered.push({ request, status: response.status });
    return request.streaming ? { ...response, body: this.#cuttable(response.body) } : response;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Breaks every open watch. */
  cutWatches(): void {
    for (const cut of this.#watches) cut(new Error("other side closed"));
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  async *#cuttable(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { promise: broken, reject: cut } = Promise.withResolvers<never>();
    broken.catch(() => undefined);
    this.#watches.add(cut);
    const chunks = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await Promise.race([chunks.next(), broken]);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      this.#watches.delete(cut);
    }
  }
}

/** Responds without asking the server. */
export function answers(
  status: number,
  headers: Record<string, string> = {},
  body = "<html>oops</html>",
): Fault {
  return async () => ({ status, headers, body: once(body) });
}

/** Refuses connections. */
export const offline: Fault = async () => {
  throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
};

/** Accepts the request and never responds. */
export const neverAnswers: Fault = (request) => untilAborted(request.signal);

/** Responds to a watch with headers only. */
export const silent: Fault = async (request, pass) => {
  const response = await pass();
  const body = { [Symbol.asyncIterator]: () => ({ next: () => untilAborted(request.signal) }) };
  return { ...response, body };
};

/** Ends a watch gracefully right after its start. */
export const endsAtOnce: Fault = async (_request, pass) => ({ ...(await pass()), body: once("") });

/**
 * Sends one byte at a time, so that the connection is never silent and makes no progress. Once `goesOn`
 * returns false, the rest of every response is sent at full speed, also on existing connections.
 */
export function drips(clock: Clock, everyMs: number, goesOn = () => true): Fault {
  return async (request, pass) => {
    const response = await pass();
    const pause = async () => {
      if (goesOn()) await clock.sleep(everyMs, request.signal);
    };
    return { ...response, body: dripping(response.body, pause) };
  };
}

/** Breaks the response off after this many bytes. */
export function cutAfter(bytes: number): Fault {
  return async (_request, pass) => {
    const response = await pass();
    return { ...response, body: cutting(response.body, bytes) };
  };
}

/** Limits the fault to requests that the predicate selects. */
export function when(picks: (request: TransportRequest) => boolean, fault: Fault): Fault {
  return (request, pass) => (picks(request) ? fault(request, pass) : pass());
}

/** Limits the fault to the first requests. */
export function times(count: number, fault: Fault): Fault {
  let left = count;
  return (request, pass) => (left-- > 0 ? fault(request, pass) : pass());
}

/** Rejects streaming lists like a server that does not support them. */
export const refusesStreamingLists: Fault = when(
  ({ path }) => path.includes("sendInitialEvents"),
  answers(422, {}, JSON.stringify({ kind: "Status", code: 422, reason: "Invalid", message: "Forbidden" })),
);

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text, "utf8");
}

async function* dripping(
  body: AsyncIterable<Uint8Array>,
  pause: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    for (const byte of chunk) {
      await pause();
      yield Uint8Array.of(byte);
    }
  }
}

async function* cutting(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of body) {
    yield chunk.subarray(0, left);
    left -= chunk.byteLength;
    if (left <= 0) throw new Error("other side closed");
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
