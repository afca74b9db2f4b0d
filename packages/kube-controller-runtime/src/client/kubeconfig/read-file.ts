import { createReadStream } from "node:fs";
import { KubeconfigError } from "../kubeconfig-error.ts";

const MAX_BYTES = 1024 * 1024;

/** The text of a small file. Errors start with `what`: `tokenFile of user "dev" in …`. */
export async function readSmallFile(path: string, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    // The size is not checked in advance: the file may be replaced in between, and a pipe has no size.
    for await (const chunk of createReadStream(path, { end: MAX_BYTES })) chunks.push(chunk);
  } catch (error) {
    throw new KubeconfigError(`${what}: ${path} can't be read: ${codeOf(error)}`);
  }
  const content = Buffer.concat(chunks);
  if (content.length > MAX_BYTES) throw new KubeconfigError(`${what}: ${path} is larger than 1 MiB`);
  return content.toString("utf8");
}

/** The system's error code: `ENOENT`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
