import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReleaseNames } from "../../tools/generate/release-names.ts";
import type { Executable } from "../../tools/release/executables.ts";
import type { Published } from "../../tools/release/published.ts";
import { buildRelease } from "../../tools/release/release.ts";
import { writeBaseLayout } from "./base-layout.ts";

const commit = { revision: "0123456789abcdef", time: "2026-01-02T03:04:05.000Z" };

/** Builds a release as for others, on a base that nobody runs, into an empty folder. */
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
