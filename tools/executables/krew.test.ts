import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { executables } from "../release/executables.ts";
import { archiveName, krewFile, krewManifest } from "./krew.ts";
import { systems } from "./systems.ts";

interface Platform {
  readonly selector: { readonly matchLabels: { readonly os: string; readonly arch: string } };
  readonly uri: string;
  readonly sha256: string;
  readonly bin: string;
  readonly files: readonly { readonly from: string; readonly to: string }[];
}

const names = {
  version: "1.2.3-rc.1",
  image: "registry.example/a",
  repository: "https://forge.example/team/a",
};
let folder: string;
let manifest: {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: { version: string; shortDescription: string; description: string; platforms: Platform[] };
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "coder-k8s-krew-"));
  for (const system of systems)
    await writeFile(join(folder, archiveName(system)), `${system.os} ${system.arch}`);
  manifest = parse(await krewManifest(names, folder));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// The rules of krew's own validation.
test("krew's manifest has the kind, the name of its file and a version that krew takes", () => {
  expect(manifest.apiVersion).toBe("krew.googlecontainertools.github.com/v1alpha2");
  expect(manifest.kind).toBe("Plugin");
  expect(`${manifest.metadata.name}.yaml`).toBe(krewFile);
  expect(manifest.metadata.name).toMatch(/^[\w-]+$/);
  expect(manifest.spec.version).toMatch(/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
});

test("krew's manifest describes the plugin in one short line, and then at length", () => {
  expect(manifest.spec.shortDescription).toMatch(/^[A-Z].{1,49}$/);
  expect(manifest.spec.shortDescription).not.toMatch(/kubectl|\.$/);
  expect(manifest.spec.description.length).toBeGreaterThan(100);
});

test("every archive of a release is one platform, with its digest and where it will be", () => {
  const expected = systems.map((system) => ({
    labels: { os: system.os, arch: system.arch },
    uri: `https://forge.example/team/a/releases/download/v1.2.3-rc.1/${archiveName(system)}`,
    sha256: createHash("sha256").update(`${system.os} ${system.arch}`).digest("hex"),
  }));
  const platforms = manifest.spec.platforms.map(({ selector, uri, sha256 }) => ({
    labels: selector.matchLabels,
    uri,
    sha256,
  }));
  expect(platforms).toEqual(expected);
});

test("a release has an archive for each system, and krew's manifest after them", () => {
  expect(executables.map(({ file }) => file)).toEqual([...systems.map(archiveName), krewFile]);
});

test("what krew runs is among the files that it unpacks, with the license", () => {
  for (const { bin, files, selector } of manifest.spec.platforms) {
    expect(bin.endsWith(".exe")).toBe(selector.matchLabels.os === "windows");
    expect(files.map(({ from }) => from)).toEqual(expect.arrayContaining([bin, "LICENSE"]));
    expect(files.every(({ from, to }) => to === "." && !from.includes(".."))).toBe(true);
  }
});
