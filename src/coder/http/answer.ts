import type { Dispatcher } from "undici";
import { NoAnswer } from "./no-answer.ts";

const LARGEST_BODY_BYTES = 2 * 1024 * 1024;

/** What makes JSON slow to parse is the number of its values, far more than its length. */
const MOST_VALUES = 20_000;

/** A whole answer, whatever it says. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
}

/** The time by which a request must be over. */
export interface Deadline {
  readonly signal: AbortSignal;
  cancel(): void;
}

/**
 * Reads a response to its end, but no more than 2 MiB of it, no more values than parse in milliseconds, and not
 * past the deadline.
 */
export async function readAnswer(response: Dispatcher.ResponseData, deadline: Deadline): Promise<Answer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let values = 0;
  for await (const chunk of response.body) {
    deadline.signal.throwIfAborted();
    size += chunk.length;
    if (size > LARGEST_BODY_BYTES)
      throw new NoAnswer(`the body is larger than ${LARGEST_BODY_BYTES / 1024 / 1024} MiB`);
    values += separatorsIn(chunk);
    if (values > MOST_VALUES) throw new NoAnswer(`the body holds more than ${MOST_VALUES} values`);
    chunks.push(chunk);
  }
  return {
    status: response.statusCode,
    contentType: header(response, "content-type") ?? "",
    body: Buffer.concat(chunks).toString("utf8"),
    retryAfter: header(response, "retry-after"),
    location: header(response, "location"),
  };
}

function header(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/** Each value of JSON but the first follows one of these; those inside of texts count as well. */
function separatorsIn(chunk: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < chunk.length; index++) {
    const byte = chunk[index];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
  }
  return count;
}
