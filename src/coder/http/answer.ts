import type { Dispatcher } from "undici";
import { DroppedRows, type RowFilter } from "./dropped-rows.ts";
import { EmptiedLists } from "./emptied-lists.ts";
import { KeptFields } from "./kept-fields.ts";
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
  /** Maximum number of bytes after dropping. */
  readonly maxBytes?: number;
  /** Name of lists to decode as empty. Their contents do not count towards the limits. */
  readonly emptiedLists?: string;
  /** Rows of the list to drop. They do not count towards the limits. */
  readonly droppedRows?: RowFilter;
  /** The fields of its objects that are read, those of the outermost objects first: all others count for nothing. */
  readonly keptFields?: readonly ReadonlySet<string>[];
}

/**
 * Reads a response until its end or the deadline. Accepts at most 2 MiB after dropping, unless the shape allows more, and only as many
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
  shape: AnswerShape,
): Promise<string> {
  const { maxValues = MAX_VALUES, maxBytes = MAX_BODY_BYTES, droppedRows } = shape;
  const rows = droppedRows && new DroppedRows(droppedRows);
  const filter = rows ?? partFilter(shape);
  const chunks: Uint8Array[] = [];
  let [read, size, values] = [0, 0, 0];
  for await (const arrived of body) {
    deadline.throwIfAborted();
    const kept = filter?.filter(arrived) ?? [arrived];
    read += arrived.length;
    for (const chunk of kept) {
      size += chunk.length;
      values += separatorsIn(chunk);
      chunks.push(chunk);
    }
    refuseLargerThan(maxBytes, size + (rows?.held ?? 0));
    refuseLargerThan(MAX_BYTES_READ, read);
    if (values > maxValues) throw new NoAnswer(`the body contains more than ${maxValues} values`);
  }
  return Buffer.concat([...chunks, ...(rows?.end() ?? [])]).toString("utf8");
}

function partFilter({ emptiedLists, keptFields }: AnswerShape): EmptiedLists | KeptFields | undefined {
  if (emptiedLists !== undefined) return new EmptiedLists(emptiedLists);
  return keptFields && new KeptFields(keptFields);
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
