import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Architecture } from "./architecture.ts";
import { type Elf, readElf } from "./elf.ts";

/**
 * Libraries that glibc loads by name at run time to resolve hosts; newer versions contain them and keep the
 * files.
 */
const LOADED_BY_NAME = ["libnss_dns.so.2", "libnss_files.so.2"];

/** A file system lacks a library; another one may have it. */
export class LibraryMissingError extends Error {
  override readonly name = "LibraryMissingError";
}

/** A shared library with its content. */
export interface Library {
  readonly name: string;
  readonly content: Buffer;
}

/** The source of libraries, and their architecture. */
export interface LibrarySource {
  /** The root of a file system: the machine's own or a copy of another. */
  readonly sysroot: string;
  readonly architecture: Architecture;
}

/**
 * All libraries of an executable, including transitive ones, sorted by name. Throws if one is missing, or
 * lacks a symbol version that another file needs: the loader would reject it.
 */
export async function librariesFor(executable: Buffer, source: LibrarySource): Promise<Library[]> {
  const { name, machine } = source.architecture;
  const elf = readElf(executable);
  if (elf?.machine !== machine) throw new Error(`this Node.js is not an executable for linux/${name}`);
  const found = new Map<string, { content: Buffer; elf: Elf }>();
  const wanted = [...elf.needed, ...LOADED_BY_NAME];
  for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
    if (found.has(next)) continue;
    const library = await find(next, source);
    found.set(next, library);
    wanted.push(...library.elf.needed);
  }
  for (const user of [elf, ...[...found.values()].map((library) => library.elf)]) checkVersions(user, found);
  return [...found]
    .map(([name, { content }]) => ({ name, content }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folders of Debian, of its cross-compiler packages, and of Fedora. */
async function find(library: string, { sysroot, architecture }: LibrarySource) {
  const { name, triplet, machine } = architecture;
  const folders = [`lib/${triplet}`, `usr/lib/${triplet}`, `usr/${triplet}/lib`, "lib64", "usr/lib64", "lib"];
  for (const folder of folders) {
    const content = await readFile(join(sysroot, folder, library)).catch(() => undefined);
    const elf = content && readElf(content);
    if (content && elf?.machine === machine) return { content, elf };
  }
  throw new LibraryMissingError(
    `${sysroot} has no ${library} for linux/${name}, which Node needs: install it (Debian: ` +
      `libstdc++6-${name}-cross), set SYSROOT to a root file system that has it, or BASE to a base image.`,
  );
}

function checkVersions({ versions }: Elf, found: ReadonlyMap<string, { content: Buffer }>): void {
  for (const { library, version } of versions) {
    if (found.get(library)?.content.includes(`\0${version}\0`)) continue;
    throw new Error(`${library} is too old: it does not define ${version}`);
  }
}
