import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { writeArchive } from "../executables/archive.ts";
import { archiveName, krewFile, krewManifest } from "../executables/krew.ts";
import { systems } from "../executables/systems.ts";
import type { ReleaseNames } from "../generate/release-names.ts";

/** A program for people's own machines, or what installs it, as a file of the release. */
export interface Executable {
  /** Its name in the release, with system and architecture. */
  readonly file: string;
  /** Writes it to `path`, beside those before it; the same sources give the same bytes. */
  readonly build: (path: string, names: ReleaseNames) => Promise<void>;
}

/** All of a release: `kubectl coder` once for each system, and the manifest by which krew installs it. */
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
