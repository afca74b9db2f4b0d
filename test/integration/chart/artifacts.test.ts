import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import * as ourKinds from "../../../src/api/v1alpha1/kinds.ts";
import type { ReleaseNames } from "../../../tools/generate/release-names.ts";
import { readTar } from "../../../tools/image/tar.ts";
import type { Published } from "../../../tools/release/published.ts";
import { readLayout } from "../../support/oci-layout.ts";
import { buildTestRelease } from "../../support/test-release.ts";

const names = {
  version: "0.2.0-rc.1",
  image: "registry.example/team/coder-k8s",
  repository: "https://forge.example/team/coder-k8s",
};
const executable = {
  file: "kubectl-example-linux-amd64",
  build: (path: string, { version }: ReleaseNames) => writeFile(path, `example ${version}`),
};

let dir: string;
let published: Published;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-artifacts-"));
  published = await buildTestRelease(join(dir, "one"), names, [executable]);
  await buildTestRelease(join(dir, "two"), names, [executable]);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const artifact = (name: string) => readFileSync(join(dir, "one", name), "utf8");

/** All files of a folder with their contents. */
function contents(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [file.slice(folder.length), readFileSync(file, "latin1")]));
}

test("two releases of a commit are the same to the last byte", () => {
  const one = contents(join(dir, "one"));
  expect(one.size).toBeGreaterThan(20);
  expect(contents(join(dir, "two"))).toEqual(one);
});

test("a release has all expected files", () => {
  expect(readdirSync(join(dir, "one")).toSorted()).toEqual([
    "chart",
    "checksums.txt",
    "coder-k8s-0.2.0-rc.1-linux-amd64.cdx.json",
    "coder-k8s-0.2.0-rc.1-linux-amd64.licenses.txt",
    "coder-k8s-0.2.0-rc.1-linux-arm64.cdx.json",
    "coder-k8s-0.2.0-rc.1-linux-arm64.licenses.txt",
    "coder-k8s-0.2.0-rc.1.tgz",
    "crds.yaml",
    "digests.json",
    "image",
    "install.yaml",
    executable.file,
    "release-notes.md",
  ]);
});

test("sha256sum confirms every file that is not in a layout", async () => {
  const { stdout } = await promisify(execFile)("sha256sum", ["--check", "checksums.txt"], {
    cwd: join(dir, "one"),
  });
  const confirmed = stdout.trim().split("\n");
  const entries = readdirSync(join(dir, "one"), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== "checksums.txt");
  expect(confirmed).toEqual(files.map(({ name }) => `${name}: OK`).toSorted());
});

test("the program in the image reports the version of the release", async () => {
  const [image] = readLayout(join(dir, "one/image"));
  const program = image?.entries.find(({ path }) => path === "app/coder-k8s.mjs");
  if (program?.type !== "file") throw new Error("the image has no program");
  await writeFile(join(dir, "program.mjs"), program.content);
  const { stdout } = await promisify(execFile)(process.execPath, [join(dir, "program.mjs"), "--version"]);
  expect(stdout.trim()).toBe(names.version);
  expect(JSON.parse(artifact(`coder-k8s-${names.version}-linux-arm64.cdx.json`)).metadata.component).toEqual(
    expect.objectContaining({ version: names.version }),
  );
});

test("the chart has the version, image and repository of the release, and its layout the same archive", () => {
  const archive = readFileSync(join(dir, `one/coder-k8s-${names.version}.tgz`));
  const files = new Map(
    readTar(gunzipSync(archive)).flatMap((entry) =>
      entry.type === "file" ? [[entry.path, parseIfYaml(entry.path, entry.content.toString())]] : [],
    ),
  );
  const { version } = names;
  const chart = { version, appVersion: version, home: names.repository };
  expect(files.get("coder-k8s/Chart.yaml")).toMatchObject(chart);
  expect(files.get("coder-k8s/values.yaml")).toMatchObject({ image: { repository: names.image, tag: "" } });
  const blobs = join(dir, "one/chart/blobs/sha256");
  const layers = readdirSync(blobs).map((name) => readFileSync(join(blobs, name)));
  expect(layers.some((layer) => layer.equals(archive))).toBe(true);
});

function parseIfYaml(path: string, content: string): unknown {
  return /\/(Chart|values)\.yaml$/.test(path) ? parse(content) : content;
}

test("plain manifests run the image of the release, and the CRDs are also separate", () => {
  expect(artifact("install.yaml")).toContain(`image: ${names.image}:${names.version}\n`);
  const kinds = parseAllDocuments(artifact("crds.yaml")).map((document) => document.toJS().spec.names.kind);
  expect(kinds.sort()).toEqual(Object.keys(ourKinds).sort());
});

test("notes say how to install, what is new, and by which digests to know image and chart", () => {
  const notes = artifact("release-notes.md");
  expect(notes).toContain("oci://registry.example/team/charts/coder-k8s --version 0.2.0-rc.1");
  expect(notes).toContain("## Added\n\n- Something new.");
  for (const { name, digest } of Object.values(published)) {
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(notes).toContain(`${name}:${names.version}@${digest}`);
  }
  expect(JSON.parse(artifact("digests.json"))).toEqual(published);
});

test("an executable is built into the release with its version", () => {
  expect(artifact(executable.file)).toBe(`example ${names.version}`);
});
