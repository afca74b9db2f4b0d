/** Builds all parts of a release into one folder. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { releaseNames } from "../generate/release-names.ts";
import { currentCommit } from "../image/commit.ts";
import { executables } from "./executables.ts";
import { buildRelease } from "./release.ts";

/** Semantic versioning without build metadata, which is not allowed in an image tag. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

const { values } = parseArgs({
  options: {
    version: { type: "string", default: "" },
    "dry-run": { type: "boolean", default: false },
    platforms: { type: "string", default: "linux/amd64 linux/arm64" },
    out: { type: "string", default: "dist/release" },
    base: { type: "string" },
    sysroot: { type: "string" },
  },
});

try {
  const { version, out } = values;
  if (!VERSION.test(version)) throw new Error("set the version: make release VERSION=1.2.3");
  const published = await buildRelease({
    names: { ...releaseNames(), version },
    dryRun: values["dry-run"],
    changelog: readFileSync("CHANGELOG.md", "utf8"),
    executables,
    platforms: values.platforms.split(/[\s,]+/).filter(Boolean),
    base: values.base,
    sysroot: values.sysroot,
    commit: await currentCommit(),
    out,
    log: (line) => console.error(`release: ${line}`),
  });
  for (const { name, digest } of Object.values(published)) console.log(`${name}:${version}@${digest}`);
  console.log(`${out}: see release-notes.md and checksums.txt there`);
} catch (error) {
  console.error(`release: ${(error as Error).message}`);
  process.exitCode = 1;
}
