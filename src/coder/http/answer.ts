import type { Dispatcher } from "undici";
import { DroppedRows, type RowFilter } from "./dropped-rows.ts";
import { EmptiedLists } from "./emptied-lists.ts";
import { NoAnswer } from "./no-answer.ts";

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Dropped parts of a body need no memory, but reading them takes time. */
const MAX_BYTES_READ = 32 * 1024 * 1024;

/** The time to parse JSON depends on the number of values more than on the size. */
const MAX_VALUES = 20_000;

/** A complete response. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
}

/** Properties of the expected response. */
export interface AnswerShape {
  /** Maximum number of values. */
  readonly maxValues?: number;
  /** Name of lists to decode as empty. Their contents do not count towards the limits. */
  readonly emptiedLists?: string;
  /** Rows of the list to drop. They do not count towards the limits. */
  readonly droppedRows?: RowFilter;
}

/**
 * Reads a response until its end or the deadline. Accepts at most 2 MiB after dropping, and only as many
 * values as can be parsed within milliseconds.
 */
export async function readAnswer(
  response: Dispatcher.ResponseData,
  deadline: AbortSignal,
  shape: AnswerShape = {},
): Promise<Answer> {
  return {
    status: response.statusCode,
    contentType: header(response, "content-type") ?? "",
    body: await readBody(response.body, deadline, shape),
    retryAfter: header(response, "retry-after"),
    location: header(response, "location"),
  };
}

async function readBody(
  body: AsyncIterable<Uint8Array>,
  deadline: AbortSignal,
  { maxValues = MAX_VALUES, emptiedLists, droppedRows }: AnswerShape,
): Promise<string> {
  const lists = emptiedLists === undefined ? undefined : new EmptiedLists(emptiedLists);
  const rows = droppedRows === undefined ? undefined : new DroppedRows(droppedRows);
  const chunks: Uint8Array[] = [];
  let [read, size, values] = [0, 0, 0];
  for await (const arrived of body) {
    deadline.throwIfAborted();
    const kept = (rows ?? lists)?.filter(arrived) ?? [arrived];
    read += arrived.length;
    for (const chunk of kept) {
      size += chunk.length;
      values += separatorsIn(chunk);
      chunks.push(chunk);
    }
    refuseLargerThan(MAX_BODY_BYTES, size + (rows?.held ?? 0));
    refuseLargerThan(MAX_BYTES_READ, read);
    if (values > maxValues) throw new NoAnswer(`the body contains more than ${maxValues} values`);
  }
  return Buffer.concat([...chunks, ...(rows?.end() ?? [])]).toString("utf8");
}

function refuseLargerThan(limit: number, size: number): void {
  if (size > limit) throw new NoAnswer(`the body is larger than ${limit / 1024 / 1024} MiB`);
}

function header(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/** Each JSON value except the first follows one of these characters. Characters in strings count as well. */
function separatorsIn(chunk: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < chunk.length; index++) {
    const byte = chunk[index];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
  }
  return count;
}
