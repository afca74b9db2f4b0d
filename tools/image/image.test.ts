import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { type LaidOutImage, readLayout } from "../../test/support/oci-layout.ts";
import { baseEnv, writeBaseLayout } from "../../test/support/test-release.ts";
import { releaseNames } from "../generate/release-names.ts";
import { nodeVersion } from "./architecture.ts";
import { buildImage } from "./image.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const platforms = ["linux/amd64", "linux/arm64"];
const commit = { revision: "0123456789abcdef", time: "2026-01-02T03:04:05.000Z" };
const names = { ...releaseNames({}), version: "7.8.9" };
let dir: string;
let base: string;
let digests: string[];
let images: LaidOutImage[];
const build = (out: string, wanted = platforms) =>
  buildImage({ platforms: wanted, base, sysroot: dir, names, commit, out: join(dir, out), log: () => {} });
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-image-test-"));
  base = join(dir, "base");
  await writeBaseLayout(base);
  digests = [await build("one"), await build("two")];
  images = readLayout(join(dir, "one/oci"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

function contentOf(path: string): string {
  const entry = images[0]?.entries.find((each) => each.path === path);
  return entry?.type === "file" ? entry.content.toString("latin1") : "";
}

test("two builds of a commit have the same digest and the same documents", () => {
  expect(digests[0]).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(digests[1]).toBe(digests[0]);
  for (const name of readdirSync(join(dir, "one")).filter((each) => each !== "oci")) {
    expect(readFileSync(join(dir, "two", name), "utf8")).toBe(readFileSync(join(dir, "one", name), "utf8"));
  }
});

test("an image is based on its own platform's base and keeps its variables", () => {
  expect(images.map(({ architecture }) => architecture)).toEqual(["amd64", "arm64"]);
  for (const { architecture, entries, config: run } of images) {
    const node = entries.find(({ path }) => path === "nodejs/bin/node");
    expect(node).toMatchObject({ content: Buffer.from(architecture) });
    expect(run.Env).toEqual(baseEnv);
  }
});

test("an image runs what the Dockerfile runs, as the same user", () => {
  const instruction = (name: string) =>
    readFileSync(join(repository, "Dockerfile"), "utf8")
      .split("\n")
      .findLast((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1) ?? "";
  expect(images[0]?.config).toMatchObject({
    User: instruction("USER"),
    WorkingDir: instruction("WORKDIR"),
    Entrypoint: JSON.parse(instruction("ENTRYPOINT")),
    Cmd: JSON.parse(instruction("CMD")),
    ExposedPorts: Object.fromEntries(
      instruction("EXPOSE")
        .split(" ")
        .map((port) => [`${port}/tcp`, {}]),
    ),
  });
});

test("an image says its version, commit and license", () => {
  const label = (name: string) => images[0]?.config.Labels[`org.opencontainers.image.${name}`];
  expect(["version", "revision", "created", "licenses"].map(label)).toEqual([
    names.version,
    commit.revision,
    commit.time,
    manifest.license,
  ]);
});

test("no path of the building machine is in an image", () => {
  const files = images.flatMap(({ entries }) => entries.filter((entry) => entry.type === "file"));
  expect(files.length).toBeGreaterThan(6);
  for (const { content } of files) {
    for (const path of [repository, "coder-k8s-image-"]) expect(content.includes(path)).toBe(false);
  }
});

describe("the bill of materials", () => {
  const bill = () => JSON.parse(contentOf("app/sbom.cdx.json"));

  test("lists what is bundled in the locked versions, and nothing else", () => {
    const locked = lock.packages as Record<string, { version?: string }>;
    const names: string[] = bill().components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["pg", "pg-types", "undici", "yaml"]));
    for (const unwanted of ["esbuild", "typebox", "vitest"]) expect(names).not.toContain(unwanted);
    for (const { name, version, purl } of bill().components) {
      expect(version).toBe(locked[`node_modules/${name}`]?.version);
      expect(purl).toBe(`pkg:npm/${name.replace("@", "%40")}@${version}`);
    }
  });

  test("is next to the image too, with the license text of every part", () => {
    const beside = (name: string) => readFileSync(join(dir, "one", name), "latin1");
    expect(beside("linux-amd64.cdx.json")).toBe(contentOf("app/sbom.cdx.json"));
    expect(beside("linux-amd64.licenses.txt")).toBe(contentOf("app/licenses.txt"));
    for (const { name, version } of bill().components) {
      expect(contentOf("app/licenses.txt")).toContain(`${name} ${version}`);
    }
  });
});

test("the Node of the image is the Node that the lock file has for tests", () => {
  expect(nodeVersion).toBe(lock.packages["node_modules/node"].version);
});

test("a platform for which there is no image is refused by its name", async () => {
  await expect(build("none", ["linux/s390x"])).rejects.toThrow(
    /unknown platform "linux\/s390x"; use one of linux\/amd64 and linux\/arm64/,
  );
});

test("a base with a damaged blob is refused", async () => {
  const blobs = join(base, "blobs/sha256");
  for (const name of readdirSync(blobs)) writeFileSync(join(blobs, name), " ", { flag: "a" });
  await expect(build("damaged")).rejects.toThrow(/damaged/);
});
