import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReleaseNames } from "../../tools/generate/release-names.ts";
import { layerOf, type PlatformImage, writeLayout } from "../../tools/image/oci.ts";
import type { Executable } from "../../tools/release/executables.ts";
import type { Published } from "../../tools/release/published.ts";
import { buildRelease } from "../../tools/release/release.ts";

const commit = { revision: "0123456789abcdef", time: "2026-01-02T03:04:05.000Z" };

/** Builds a release for publication, on a base that is never run, into an empty folder. */
export async function buildTestRelease(
  out: string,
  names: ReleaseNames,
  executables: readonly Executable[] = [],
): Promise<Published> {
  const base = await mkdtemp(join(tmpdir(), "coder-k8s-base-"));
  try {
    await writeBaseLayout(base);
    return await buildRelease({
      names,
      out,
      base,
      executables,
      dryRun: false,
      changelog: `## [${names.version}] - 2026-01-02\n\n### Added\n\n- Something new.\n`,
      platforms: ["amd64", "arm64"],
      sysroot: undefined,
      commit,
      log: () => {},
    });
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

/** The variables of the base. */
export const baseEnv = ["SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"];

/** Writes an image for both platforms whose Node is its platform's name, for images that are never run. */
export async function writeBaseLayout(dir: string): Promise<void> {
  const config = {
    User: "0",
    WorkingDir: "/",
    Entrypoint: [],
    Cmd: [],
    Env: baseEnv,
    ExposedPorts: {},
    Labels: {},
  };
  const images = ["amd64", "arm64"].map(async (architecture): Promise<PlatformImage> => {
    const node = { type: "file", path: "nodejs/bin/node", content: Buffer.from(architecture) } as const;
    return { architecture, layers: [await layerOf([node])], config, created: undefined };
  });
  await writeLayout(dir, await Promise.all(images), { name: "base", tag: "1" });
}
