import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { writeArchive } from "../executables/archive.ts";
import { archiveName, krewFile, krewManifest } from "../executables/krew.ts";
import { systems } from "../executables/systems.ts";
import type { ReleaseNames } from "../generate/release-names.ts";

/** A program for users' machines, or its installer, as a file of the release. */
export interface Executable {
  /** The file name in the release, with system and architecture. */
  readonly file: string;
  /** Writes it to `path`, next to the previous ones; reproducible. */
  readonly build: (path: string, names: ReleaseNames) => Promise<void>;
}

/** All executables of a release: `kubectl coder` for each system, and its krew manifest. */
export const executables: readonly Executable[] = [
  ...systems.map((system) => ({
    file: archiveName(system),
    build: (path: string, { version }: ReleaseNames) => writeArchive(system, path, version),
  })),
  {
    file: krewFile,
    build: async (path, names) => writeFile(path, await krewManifest(names, dirname(path))),
  },
];
