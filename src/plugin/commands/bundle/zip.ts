import { crc32, deflateRawSync } from "node:zlib";

/** A file of an archive. */
export interface ZipEntry {
  readonly path: string;
  readonly text: string;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
/** Names are UTF-8. */
const UTF8 = 0x0800;
const DEFLATE = 8;
/** A regular file that its owner may read and write. */
const MODE = 0o100600 << 16;

/** A zip archive of text files, all of the same time. Four gigabytes or 65535 files are more than it can hold. */
export function zip(entries: readonly ZipEntry[], at: Date): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, text } of entries) {
    const name = Buffer.from(path, "utf8");
    const content = Buffer.from(text, "utf8");
    const packed = deflateRawSync(content);
    const facts = factsOf(
      { crc: crc32(content), packed: packed.length, plain: content.length, name: name.length },
      at,
    );
    bodies.push(header(LOCAL, [VERSION], facts), name, packed);
    const more = Buffer.alloc(14);
    more.writeUInt32LE(MODE >>> 0, 6);
    more.writeUInt32LE(offset, 10);
    directory.push(header(CENTRAL, [VERSION | (3 << 8), VERSION], facts), more, name);
    offset += 30 + name.length + packed.length;
  }
  const central = Buffer.concat(directory);
  return Buffer.concat([...bodies, central, end(entries.length, central.length, offset)]);
}

interface Sizes {
  readonly crc: number;
  readonly packed: number;
  readonly plain: number;
  readonly name: number;
}

/** What the header of a file and its entry in the directory have in common. */
function factsOf({ crc, packed, plain, name }: Sizes, at: Date): Buffer {
  const facts = Buffer.alloc(24);
  facts.writeUInt16LE(UTF8, 0);
  facts.writeUInt16LE(DEFLATE, 2);
  facts.writeUInt16LE((at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1), 4);
  facts.writeUInt16LE(
    ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
    6,
  );
  facts.writeUInt32LE(crc, 8);
  facts.writeUInt32LE(packed, 12);
  facts.writeUInt32LE(plain, 16);
  facts.writeUInt16LE(name, 20);
  return facts;
}

function header(signature: number, versions: readonly number[], facts: Buffer): Buffer {
  const start = Buffer.alloc(4 + 2 * versions.length);
  start.writeUInt32LE(signature, 0);
  for (const [index, version] of versions.entries()) start.writeUInt16LE(version, 4 + 2 * index);
  return Buffer.concat([start, facts]);
}

function end(count: number, size: number, offset: number): Buffer {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(END, 0);
  record.writeUInt16LE(count, 8);
  record.writeUInt16LE(count, 10);
  record.writeUInt32LE(size, 12);
  record.writeUInt32LE(offset, 16);
  return record;
}
