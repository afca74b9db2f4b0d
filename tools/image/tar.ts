const BLOCK = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/**
 * An entry of an archive. Directories are named like files, without a trailing slash. The owner is a number
 * for both user and group; defaults to root.
 */
export type TarEntry = { readonly path: string; readonly owner?: number } & (
  | { readonly type: "directory"; readonly mode?: number }
  | { readonly type: "file"; readonly content: Buffer; readonly mode?: number }
  | { readonly type: "link"; readonly to: string }
);

const FLAGS = { file: "0", link: "2", directory: "5" } as const;
const MODES = { file: 0o644, link: 0o777, directory: 0o755 } as const;

/**
 * A reproducible archive that only depends on names, owners, modes and contents: entries are sorted and have
 * the time 0. Parent directories of an entry are added.
 */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...tarChunks(entries)]);
}

/** The archive of `writeTar` in parts, to avoid a second copy in memory. */
export function* tarChunks(entries: readonly TarEntry[]): Generator<Buffer> {
  const named = new Map(withParents(entries).map((entry) => [entry.path, entry]));
  const sorted = [...named.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const entry of sorted) yield* blocks(entry);
  yield Buffer.alloc(2 * BLOCK);
}

/** The entries of an archive of `writeTar` or npm; types that a `TarEntry` can't represent are skipped. */
export function readTar(archive: Buffer): TarEntry[] {
  const entries: TarEntry[] = [];
  let at = 0;
  while (at + BLOCK <= archive.length && archive[at] !== 0) {
    const header = archive.subarray(at, at + BLOCK);
    const size = Number.parseInt(text(header, 124, 12), 8);
    const entry = entryOf(header, archive.subarray(at + BLOCK, at + BLOCK + size));
    if (entry !== undefined) entries.push(entry);
    at += BLOCK + padded(size);
  }
  return entries;
}

/** Given entries come last, so that their own modes win. */
function withParents(entries: readonly TarEntry[]): TarEntry[] {
  const parents = entries.flatMap(({ path }) => {
    const parts = path.split("/").slice(0, -1);
    return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
  });
  return [...parents.map((path): TarEntry => ({ type: "directory", path })), ...entries];
}

function blocks(entry: TarEntry): Buffer[] {
  const content = entry.type === "file" ? entry.content : Buffer.alloc(0);
  return [header(entry, content.length), content, Buffer.alloc(padded(content.length) - content.length)];
}

function header(entry: TarEntry, size: number): Buffer {
  const { prefix, name } = splitPath(entry.type === "directory" ? `${entry.path}/` : entry.path);
  const block = Buffer.alloc(BLOCK);
  const mode = (entry.type === "link" ? undefined : entry.mode) ?? MODES[entry.type];
  const owner = octal(entry.owner ?? 0, 8);
  block.write(name, 0);
  block.write(octal(mode, 8), 100);
  block.write(owner, 108);
  block.write(owner, 116);
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136);
  block.write(" ".repeat(8), 148);
  block.write(FLAGS[entry.type], 156);
  if (entry.type === "link") block.write(entry.to, 157);
  block.write("ustar\x0000", 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 7)} `, 148);
  return block;
}

/** The format has two fields for a path, which readers join with a slash. */
function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { prefix: "", name: path };
  const slashes = [...path.matchAll(/\/(?=.)/g)].map(({ index }) => index);
  const at = slashes.find((index) => Buffer.byteLength(path.slice(index + 1)) <= NAME_BYTES);
  if (at === undefined || Buffer.byteLength(path.slice(0, at)) > PREFIX_BYTES)
    throw new Error(`${path} is too long for an archive`);
  return { prefix: path.slice(0, at), name: path.slice(at + 1) };
}

function entryOf(header: Buffer, content: Buffer): TarEntry | undefined {
  const name = text(header, 0, NAME_BYTES);
  const prefix = text(header, 345, PREFIX_BYTES);
  const path = (prefix ? `${prefix}/${name}` : name).replace(/\/$/, "");
  const mode = Number.parseInt(text(header, 100, 8), 8);
  const user = Number.parseInt(text(header, 108, 8), 8);
  const owner = user === 0 ? {} : { owner: user };
  switch (text(header, 156, 1)) {
    case FLAGS.file:
      return { type: "file", path, mode, content, ...owner };
    case FLAGS.directory:
      return { type: "directory", path, mode, ...owner };
    case FLAGS.link:
      return { type: "link", path, to: text(header, 157, NAME_BYTES), ...owner };
    default:
      return undefined;
  }
}

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}

function text(header: Buffer, start: number, length: number): string {
  const field = header.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end === -1 ? length : end);
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}
