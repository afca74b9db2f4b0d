import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { bundle, nodeFlags, releaseFile } from "./bundle.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(`${repository}${path}`, "utf8");

/** The instructions of the Dockerfile, each with its arguments. */
const instructions = read("Dockerfile")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => {
    const [name = "", ...words] = line.split(/\s+/);
    return { name, words };
  });

/** The arguments of the last such instruction: of the stage that becomes the image. */
function last(name: string): readonly string[] {
  return instructions.findLast((instruction) => instruction.name === name)?.words ?? [];
}

const copies = instructions.filter(({ name }) => name === "COPY").map(({ words }) => words);
const fromContext = copies
  .filter(([first]) => !first?.startsWith("--"))
  .flatMap((words) => words.slice(0, -1));

describe("the Dockerfile", () => {
  it.each(fromContext)("copies %s, which exists and is not kept from the build", (path) => {
    expect(existsSync(`${repository}${path}`)).toBe(true);
    expect(read(".dockerignore").split("\n")).toContain(`!${path}`);
  });

  it("copies every source of the bundle", async () => {
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-image-test-"));
    const { inputs } = await bundle(join(dir, "coder-k8s.mjs"));
    await rm(dir, { recursive: true });
    const sources = inputs.filter((path) => !/^(node_modules\/|omit-unreachable:)/.test(path));
    const missing = sources.filter((path) => !fromContext.some((copied) => path.startsWith(copied)));
    expect(missing).toEqual([]);
  });

  it("copies the manifest of every workspace before it installs", () => {
    const installs = instructions.findIndex(({ words }) => words.join(" ").startsWith("npm ci"));
    const before = instructions.slice(0, installs).flatMap(({ words }) => words);
    const workspaces = JSON.parse(read("package.json")).workspaces as string[];
    const manifests = workspaces.flatMap((glob) => globSync(`${glob}/package.json`, { cwd: repository }));
    expect(before).toEqual(expect.arrayContaining(manifests));
  });

  it("takes what `make build` makes and runs it", () => {
    const [, made] = copies.find(([first]) => first === "--from=build") ?? [];
    expect(made).toBe(`/src/${releaseFile}`);
    const [, ...args] = JSON.parse(last("ENTRYPOINT").join(" "));
    expect(args).toEqual([...nodeFlags, `${last("WORKDIR")[0]}/${releaseFile.split("/").at(-1)}`]);
  });

  it("builds and runs on the Node that the project is tested with", () => {
    const major = read(".node-version").trim().split(".")[0];
    const images = instructions.filter(({ name }) => name === "ARG").map(({ words }) => words[0]);
    expect(images).toEqual([
      expect.stringMatching(`/node:${major}-`),
      expect.stringMatching(`/nodejs${major}-.*:nonroot$`),
    ]);
  });

  it("runs as the user that the chart says, which is not root", () => {
    const { runAsUser, runAsGroup } = parse(read("charts/coder-k8s/values.yaml")).podSecurityContext;
    expect(last("USER")).toEqual([`${runAsUser}:${runAsGroup}`]);
  });
});
