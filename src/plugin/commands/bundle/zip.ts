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
const UNIX = 3 << 8;
/** Flag: file names are UTF-8. */
const UTF8 = 0x0800;
const DEFLATE = 8;
/** A regular file with mode 0600. */
const MODE = 0o100600 << 16;

/**
 * A zip archive of text files that share one modification time. The format is limited to 4 GiB and 65535
 * files.
 */
export function zip(entries: readonly ZipEntry[], at: Date): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, text } of entries) {
    const name = Buffer.from(path, "utf8");
    const content = Buffer.from(text, "utf8");
    const packed = deflateRawSync(content);
    // The fields that a local file header and a central directory entry share.
    const sizes = [u32(packed.length), u32(content.length), u16(name.length), u16(0)];
    const facts = bytes([u16(UTF8), u16(DEFLATE), ...timeOf(at), u32(crc32(content)), ...sizes]);
    bodies.push(bytes([u32(LOCAL), u16(VERSION)]), facts, name, packed);
    const more = bytes([u16(0), u16(0), u16(0), u32(MODE >>> 0), u32(offset)]);
    directory.push(bytes([u32(CENTRAL), u16(VERSION | UNIX), u16(VERSION)]), facts, more, name);
    offset += 30 + name.length + packed.length;
  }
  const central = Buffer.concat(directory);
  const count = u16(entries.length);
  const end = bytes([u32(END), u32(0), count, count, u32(central.length), u32(offset), u16(0)]);
  return Buffer.concat([...bodies, central, end]);
}

/** Time and date in MS-DOS format, with a resolution of two seconds. */
function timeOf(at: Date): Field[] {
  return [
    u16((at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)),
    u16(((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()),
  ];
}

type Field = readonly [value: number, size: number];
const u16 = (value: number): Field => [value, 2];
const u32 = (value: number): Field => [value, 4];

/** Numbers in little-endian order. */
function bytes(fields: readonly Field[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [, size]) => sum + size, 0));
  let at = 0;
  for (const [value, size] of fields) at = buffer.writeUIntLE(value, at, size);
  return buffer;
}
