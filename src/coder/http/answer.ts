import type { Dispatcher } from "undici";
import { DroppedRows, type RowFilter } from "./dropped-rows.ts";
import { EmptiedLists } from "./emptied-lists.ts";
import { NoAnswer } from "./no-answer.ts";

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** What is left out of a body costs no memory, but reading it costs time. */
const MAX_BYTES_READ = 32 * 1024 * 1024;

/** What makes JSON slow to parse is the number of its values, far more than its length. */
const MAX_VALUES = 20_000;

/** A whole answer, of success or failure. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
}

/** In what an answer may differ from the others. */
export interface AnswerShape {
  /** How many values it may hold. */
  readonly mostValues?: number;
  /** The name of lists whose contents nobody needs: they are read as empty and count for nothing. */
  readonly emptiedLists?: string;
  /** Rows of the list that nobody needs: they count for nothing. */
  readonly droppedRows?: RowFilter;
}

/**
 * Reads a response to its end, but no more than 2 MiB of what is kept of it, no more values than parse in
 * milliseconds, and not past the deadline.
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
  { mostValues = MAX_VALUES, emptiedLists, droppedRows }: AnswerShape,
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
    if (values > mostValues) throw new NoAnswer(`the body contains more than ${mostValues} values`);
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

/** Each value of JSON but the first follows one of these; those inside of texts count as well. */
function separatorsIn(chunk: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < chunk.length; index++) {
    const byte = chunk[index];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
  }
  return count;
}
