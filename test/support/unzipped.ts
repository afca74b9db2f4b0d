import { readFile } from "node:fs/promises";
import { inflateRawSync } from "node:zlib";

/** The files in a zip as `kubectl coder bundle` writes it: deflated, and without a comment at the end. */
export async function unzipped(path: string): Promise<Map<string, string>> {
  const archive = await readFile(path);
  const end = archive.length - 22;
  const files = new Map<string, string>();
  let entry = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, nameLength] = [archive.readUInt32LE(entry + 20), archive.readUInt16LE(entry + 28)];
    const local = archive.readUInt32LE(entry + 42);
    const name = archive.toString("utf8", entry + 46, entry + 46 + nameLength);
    const body = local + 30 + archive.readUInt16LE(local + 26);
    files.set(name, inflateRawSync(archive.subarray(body, body + packed)).toString("utf8"));
    entry += 46 + nameLength;
  }
  return files;
}
