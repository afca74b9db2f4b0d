import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { architectureOf } from "./architecture.ts";
import { withCrossPackages } from "./runtime.ts";

let bin: string;
beforeEach(async () => {
  bin = await mkdtemp(join(tmpdir(), "coder-k8s-apt-test-"));
});
afterEach(() => rm(bin, { recursive: true, force: true }));

/** Adds a program to the PATH, which otherwise only contains those of every system. */
function install(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

const env = () => ({ PATH: `${bin}:/usr/bin:/bin` });

test("libraries of another architecture come from packages that are fetched, unpacked and removed again", async () => {
  install("apt-get", 'shift; for name; do touch "$name"_1.deb; done');
  install("dpkg-deb", 'mkdir -p "$3"; touch "$3/$2"');
  const [files, sysroot] = await withCrossPackages(architectureOf("arm64"), env(), async (root) => [
    readdirSync(root),
    root,
  ]);
  expect(files.toSorted()).toEqual([
    "libc6-arm64-cross_1.deb",
    "libgcc-s1-arm64-cross_1.deb",
    "libstdc++6-arm64-cross_1.deb",
  ]);
  expect(existsSync(sysroot)).toBe(false);
});

test("a package that can't be fetched is an error with apt's own words", async () => {
  install("apt-get", "echo 'E: Unable to locate package' >&2; exit 100");
  await expect(withCrossPackages(architectureOf("arm64"), env(), async () => {})).rejects.toThrow(
    "Unable to locate package",
  );
});
