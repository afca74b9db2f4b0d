import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { blocks } from "../../test/docs/pages.ts";
import { namedFiles, releaseNames, valuesFile, withReleaseNames } from "./release-names.ts";

const root = join(import.meta.dirname, "../..");
const local = `${manifest.config.image}:${manifest.version}`;
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("the image of a checkout", () => {
  it("has a name that no registry serves", () => {
    expect(releaseNames({}).image).toMatch(/^localhost\//);
  });

  it("is the one in the chart's values", () => {
    expect(parse(read(valuesFile)).image.repository).toBe(releaseNames({}).image);
  });

  it.each(["Dockerfile", "README.md", "docs/install.md"])("is what %s says to build", (path) => {
    const named = read(path).match(/(?<!\/)localhost\/[\w./-]+:[\w.-]+\w/g);
    expect(new Set(named)).toEqual(new Set([local]));
  });

  it("is built by a command of the documentation", () => {
    const console = blocks.filter(({ language }) => language === "console").map(({ text }) => text);
    expect(console.join("\n")).toContain(`docker build -t ${local} .`);
  });
});

it("the repository of a checkout is a placeholder", () => {
  expect(releaseNames({}).repository).toMatch(/^https:\/\/localhost\//);
});

describe("a release", () => {
  const repository = "https://forge.example/team/operator";
  const names = releaseNames({ IMAGE: "registry.example/team/operator", REPOSITORY: repository });
  const files = withReleaseNames(root, new Map(), names);

  it("names the image in IMAGE and the runbooks in REPOSITORY in the chart's values, and changes nothing else", () => {
    const before = parse(read(valuesFile));
    expect(parse(files.get(valuesFile) ?? "")).toEqual({
      ...before,
      image: { ...before.image, repository: names.image },
      alerts: { ...before.alerts, runbookURL: `${repository}/blob/main/docs/runbooks.md` },
    });
  });

  it("leads every alert to the runbooks in its repository", () => {
    const links = files.get("charts/coder-k8s/files/alerts.yaml")?.match(/(?<=runbook_url: ).*/g) ?? [];
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !link.startsWith(`${repository}/blob/main/docs/runbooks.md#`))).toEqual([]);
  });

  it("names its repository in the chart and the Dockerfile", () => {
    const chart = parse(files.get("charts/coder-k8s/Chart.yaml") ?? "");
    expect(chart).toMatchObject({ home: repository, sources: [repository] });
    expect(files.get("Dockerfile")).toContain(`org.opencontainers.image.source="${repository}" \\`);
  });

  it.each([...namedFiles])("keeps every other line of %s", (path) => {
    const lines = (text = "") => text.split("\n");
    const [before, after] = [lines(read(path)), lines(files.get(path))];
    const changed = before.filter((line, index) => after[index] !== line);
    expect(after.length).toBe(before.length);
    expect(changed.filter((line) => !line.includes("localhost/coder-k8s"))).toEqual([]);
  });
});
