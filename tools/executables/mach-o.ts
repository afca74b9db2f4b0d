import { createHash } from "node:crypto";

/*
 * macOS on Apple processors does not run a program without a signature. Creating the executable removes the
 * signature of Node.js, and Apple's tool for signing only runs on macOS. Therefore this module adds the same
 * signature as `codesign --sign -` and linkers: a directory of hashes without an identity. It does not prove
 * the origin of the file; checksums do.
 */

const MAGIC_64 = 0xfeedfacf;
const HEADER_BYTES = 32;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const SIGNATURE_COMMAND_BYTES = 16;
const HASH_BYTES = 32;
const HASHED_PAGE = 4096;
const MEMORY_PAGE = 16 * 1024;
const DIRECTORY_BYTES = 88;
const SUPER_BLOB_BYTES = 20;

interface Segment {
  /** The offset of its load command. */
  readonly at: number;
  readonly offset: number;
  readonly size: number;
}

/** The load commands of a 64-bit Mach-O file: segments by name, and the end of the commands. */
function commandsOf(file: Buffer): {
  segments: Map<string, Segment>;
  end: number;
  isSigned: boolean;
  room: number;
} {
  if (file.readUInt32LE(0) !== MAGIC_64) throw new Error("this is not a Mach-O file for one architecture");
  const segments = new Map<string, Segment>();
  let [end, isSigned, room] = [HEADER_BYTES, false, file.length];
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const kind = file.readUInt32LE(end);
    if (kind === LC_CODE_SIGNATURE) isSigned = true;
    if (kind === LC_SEGMENT_64) {
      const name = file.toString("latin1", end + 8, end + 24).replace(/\0.*$/, "");
      const offset = Number(file.readBigUInt64LE(end + 40));
      segments.set(name, { at: end, offset, size: Number(file.readBigUInt64LE(end + 48)) });
      room = Math.min(room, ...sectionOffsets(file, end));
    }
    end += file.readUInt32LE(end + 4);
  }
  return { segments, end, isSigned, room };
}

function sectionOffsets(file: Buffer, segment: number): number[] {
  const offsets = Array.from({ length: file.readUInt32LE(segment + 64) }, (_, index) =>
    file.readUInt32LE(segment + 72 + 80 * index + 48),
  );
  return offsets.filter((offset) => offset > 0);
}

/** A copy of an unsigned file with an ad-hoc signature. The output is reproducible. */
export function signAdHoc(file: Buffer, identifier: string): Buffer {
  const { segments, end, isSigned, room } = commandsOf(file);
  const [text, link] = [segments.get("__TEXT"), segments.get("__LINKEDIT")];
  if (isSigned || !text || !link) throw new Error("this Mach-O file is signed, or lacks a segment");
  if (link.offset + link.size !== file.length) throw new Error("__LINKEDIT does not end the file");
  if (end + SIGNATURE_COMMAND_BYTES > room) throw new Error("there is no room for a load command");

  const start = aligned(file.length, 16);
  const name = Buffer.from(`${identifier}\0`);
  const pages = Math.ceil(start / HASHED_PAGE);
  const size = SUPER_BLOB_BYTES + DIRECTORY_BYTES + name.length + pages * HASH_BYTES;
  const signed = Buffer.concat([file, Buffer.alloc(start - file.length + size)]);
  signed.writeUInt32LE(file.readUInt32LE(16) + 1, 16);
  signed.writeUInt32LE(file.readUInt32LE(20) + SIGNATURE_COMMAND_BYTES, 20);
  [LC_CODE_SIGNATURE, SIGNATURE_COMMAND_BYTES, start, size].forEach((word, index) => {
    signed.writeUInt32LE(word, end + 4 * index);
  });
  const linkSize = start + size - link.offset;
  signed.writeBigUInt64LE(BigInt(aligned(linkSize, MEMORY_PAGE)), link.at + 32);
  signed.writeBigUInt64LE(BigInt(linkSize), link.at + 48);

  const hashes = Array.from({ length: pages }, (_, page) => {
    const from = page * HASHED_PAGE;
    return createHash("sha256")
      .update(signed.subarray(from, Math.min(from + HASHED_PAGE, start)))
      .digest();
  });
  const blob = Buffer.concat([directory({ start, pages, name, text }), name, ...hashes]);
  superBlob(blob).copy(signed, start);
  return signed;
}

/** The only blob in an ad-hoc signature; all numbers are big-endian. */
function superBlob(codeDirectory: Buffer): Buffer {
  const header = Buffer.alloc(SUPER_BLOB_BYTES);
  [0xfade0cc0, SUPER_BLOB_BYTES + codeDirectory.length, 1, 0, SUPER_BLOB_BYTES].forEach((word, index) => {
    header.writeUInt32BE(word, 4 * index);
  });
  return Buffer.concat([header, codeDirectory]);
}

interface Signed {
  readonly start: number;
  readonly pages: number;
  readonly name: Buffer;
  readonly text: Segment;
}

function directory({ start, pages, name, text }: Signed): Buffer {
  const header = Buffer.alloc(DIRECTORY_BYTES);
  const hashOffset = DIRECTORY_BYTES + name.length;
  const length = hashOffset + pages * HASH_BYTES;
  const adHocByLinker = 0x20002;
  [0xfade0c02, length, 0x20400, adHocByLinker, hashOffset, DIRECTORY_BYTES, 0, pages, start].forEach(
    (word, index) => {
      header.writeUInt32BE(word, 4 * index);
    },
  );
  header.writeUInt8(HASH_BYTES, 36);
  header.writeUInt8(2, 37); // SHA-256
  header.writeUInt8(Math.log2(HASHED_PAGE), 39);
  header.writeBigUInt64BE(BigInt(text.offset), 64);
  header.writeBigUInt64BE(BigInt(text.size), 72);
  header.writeBigUInt64BE(1n, 80); // the main program
  return header;
}

function aligned(size: number, to: number): number {
  return Math.ceil(size / to) * to;
}
