/** A program for people's own machines, as a file of the release. */
export interface Executable {
  /** Its name in the release, with system and architecture. */
  readonly file: string;
  /** Writes it to `path`; the same sources give the same bytes. */
  readonly build: (path: string, version: string) => Promise<void>;
}

/** All of a release. `kubectl-coder` belongs here, once for each system, when it is there. */
export const executables: readonly Executable[] = [];
