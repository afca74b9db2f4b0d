import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { releaseNames } from "../generate/release-names.ts";
import { buildRelease, type ReleaseOptions } from "./release.ts";

let out: string;
beforeEach(async () => {
  out = await mkdtemp(join(tmpdir(), "coder-k8s-release-test-"));
});
afterEach(() => rm(out, { recursive: true, force: true }));

const commit = { revision: "0123456789abcdef", time: "2026-01-02T03:04:05.000Z" };

/** A valid release with the changes of the test. */
function release(change: Partial<ReleaseOptions>): Promise<unknown> {
  return buildRelease({
    names: {
      version: "0.2.0",
      image: "registry.example/coder-k8s",
      repository: "https://forge.example/coder-k8s",
    },
    changelog: "## [0.2.0] - 2026-01-02\n\n- Something.\n",
    dryRun: false,
    executables: [],
    platforms: [],
    base: undefined,
    sysroot: undefined,
    commit,
    out,
    log: () => {},
    ...change,
  });
}

test.each([
  ["names that lead nowhere", { names: releaseNames({}) }, /set IMAGE and REPOSITORY/],
  ["no commit", { commit: undefined }, /a release requires a commit/],
  ["uncommitted changes", { commit: { ...commit, revision: "0123-dirty" } }, /commit your changes first/],
  ["no section in the changelog", { changelog: "## [Unreleased]\n\n- A\n" }, /no section \[0\.2\.0\]/],
])("a release with %s is refused", async (_, change, words) => {
  await expect(release(change)).rejects.toThrow(words);
});

test("a folder that holds something else is left alone", async () => {
  writeFileSync(join(out, "thesis.txt"), "");
  await expect(release({})).rejects.toThrow(/is not empty and does not contain a release/);
  expect(existsSync(join(out, "thesis.txt"))).toBe(true);
});
