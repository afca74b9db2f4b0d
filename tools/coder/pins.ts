import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type GoBinary,
  type GoModule,
  type Platform,
  readGoModule,
} from "kube-controller-runtime/testing/binaries";

/** The name of the pair of files that pins the older Coder. */
export const OLDER = "v2.26";

/**
 * The programs that end-to-end tests run in pods, in the order of their builds: Coder with the licensed
 * features, the Terraform that provisioner daemons call, an older Coder to upgrade from, and the open-source
 * build of Coder.
 */
export const binaryNames = ["coder", "terraform", "coder-old", "coder-oss"] as const;
export type BinaryName = (typeof binaryNames)[number];

/** Absolute path of every binary. */
export type CoderBinaries = Readonly<Record<BinaryName, string>>;

export interface Pins {
  readonly binaries: Readonly<Record<BinaryName, GoBinary>>;
  /** A folder in the per-user cache, a different one for every set of pins. */
  readonly folder: string;
}

export function readPins({ os, arch }: Platform): Pins {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const coder = readGoModule(here);
  const older = readGoModule(here, OLDER);
  const terraform = readGoModule(fileURLToPath(new URL("../terraform/", import.meta.url)));
  const version = coder.versionOf("github.com/coder/coder/v2");
  const modules = [coder, older, terraform].map((module) => module.digest).join("");
  const digest = createHash("sha256").update(modules).digest("hex").slice(0, 8);
  return {
    folder: join("coder-k8s", "coder", `${version}-${os}-${arch}-${digest}`),
    binaries: {
      coder: coderBinary(coder, "coder", "./licensed"),
      "coder-oss": coderBinary(coder, "coder-oss", "github.com/coder/coder/v2/cmd/coder"),
      "coder-old": coderBinary(older, "coder-old", "./licensed"),
      terraform: terraformBinary(terraform),
    },
  };
}

function coderBinary(module: GoModule, name: BinaryName, goPackage: string): GoBinary {
  const version = module.versionOf("github.com/coder/coder/v2");
  return {
    name,
    module,
    package: goPackage,
    version,
    // Otherwise coderd reports a development build of v0.0.0.
    stamp: `github.com/coder/coder/v2/buildinfo.tag=${version.replace(/^v/, "")}`,
  };
}

function terraformBinary(module: GoModule): GoBinary {
  const version = module.versionOf("github.com/hashicorp/terraform");
  return {
    name: "terraform",
    module,
    package: "github.com/hashicorp/terraform",
    version,
    stamp: `github.com/hashicorp/terraform/version.Version=${version.replace(/^v/, "")}`,
  };
}
