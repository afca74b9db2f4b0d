/** The dependencies of an executable or a library. */
export interface Elf {
  readonly machine: number;
  /** The names of the linked libraries. */
  readonly needed: readonly string[];
  /** The versions, such as `GLIBC_2.28`, that these libraries must define. */
  readonly versions: readonly RequiredVersion[];
}

interface RequiredVersion {
  readonly library: string;
  readonly version: string;
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NEEDED = 1;
const DT_STRTAB = 5;
const DT_VERNEED = 0x6ffffffe;
const DT_VERNEEDNUM = 0x6fffffff;

/** Reads a 64-bit little-endian ELF file, or returns `undefined` for anything else. */
export function readElf(file: Buffer): Elf | undefined {
  if (file.length < 64 || file.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") return undefined;
  const segments = segmentsOf(file);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  const tags = dynamic === undefined ? [] : tagsOf(file, dynamic.offset);
  const offsetOf = (address: number) => {
    const home = segments.find(
      (segment) =>
        segment.type === PT_LOAD && address >= segment.address && address < segment.address + segment.size,
    );
    return home === undefined ? address : address - home.address + home.offset;
  };
  const value = (tag: number) => tags.find(([name]) => name === tag)?.[1] ?? 0;
  const strings = offsetOf(value(DT_STRTAB));
  const string = (at: number) => file.toString("latin1", strings + at, file.indexOf(0, strings + at));
  return {
    machine: file.readUInt16LE(18),
    needed: tags.filter(([tag]) => tag === DT_NEEDED).map(([, name]) => string(name)),
    versions: versionsOf(file, offsetOf(value(DT_VERNEED)), value(DT_VERNEEDNUM)).map(
      ([library, version]) => ({ library: string(library), version: string(version) }),
    ),
  };
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function segmentsOf(file: Buffer): Segment[] {
  const start = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_, index) => {
    const at = start + index * size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function tagsOf(file: Buffer, start: number): (readonly [tag: number, value: number])[] {
  const tags: (readonly [number, number])[] = [];
  for (let at = start; file.readBigUInt64LE(at) !== 0n; at += 16) {
    tags.push([Number(file.readBigUInt64LE(at)), Number(file.readBigUInt64LE(at + 8))]);
  }
  return tags;
}

/** Offsets of the names in the string table: a list of libraries, each with a list of versions. */
function versionsOf(
  file: Buffer,
  start: number,
  libraries: number,
): (readonly [library: number, version: number])[] {
  const names: (readonly [number, number])[] = [];
  let library = start;
  for (let index = 0; index < libraries; index++) {
    let version = library + file.readUInt32LE(library + 8);
    for (let count = file.readUInt16LE(library + 2); count > 0; count--) {
      names.push([file.readUInt32LE(library + 4), file.readUInt32LE(version + 8)]);
      version += file.readUInt32LE(version + 12);
    }
    library += file.readUInt32LE(library + 12);
  }
  return names;
}
