import type { Dispatcher } from "undici";
import { NoAnswer } from "./no-answer.ts";

const LARGEST_BODY_BYTES = 8 * 1024 * 1024;

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

/** Reads a response to its end, but no more than 8 MiB of it and not past the deadline. */
export async function readAnswer(response: Dispatcher.ResponseData, deadline: Deadline): Promise<Answer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    deadline.signal.throwIfAborted();
    size += chunk.length;
    if (size > LARGEST_BODY_BYTES)
      throw new NoAnswer(`the body is larger than ${LARGEST_BODY_BYTES / 1024 / 1024} MiB`);
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
