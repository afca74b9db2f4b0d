import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { blocks } from "../../test/docs/pages.ts";
import { imageName, valuesFile, withImageName } from "./image-name.ts";

const root = join(import.meta.dirname, "../..");
const local = `${manifest.config.image}:${manifest.version}`;
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("the image of a checkout", () => {
  it("has a name that no registry serves", () => {
    expect(imageName({})).toMatch(/^localhost\//);
  });

  it("is the one in the chart's values", () => {
    expect(parse(read(valuesFile)).image.repository).toBe(imageName({}));
  });

  it.each(["Dockerfile", "README.md", "docs/install.md"])("is what %s says to build", (path) => {
    const named = read(path).match(/localhost\/[\w./-]+:[\w.-]+\w/g);
    expect(new Set(named)).toEqual(new Set([local]));
  });

  it("is built by a command of the documentation", () => {
    const console = blocks.filter(({ language }) => language === "console").map(({ text }) => text);
    expect(console.join("\n")).toContain(`docker build -t ${local} .`);
  });
});

describe("the image of a release", () => {
  const image = imageName({ IMAGE: "registry.example/team/operator" });

  it("is the one in IMAGE, in the chart's values and nowhere else in them", () => {
    const values = withImageName(root, new Map(), image).get(valuesFile) ?? "";
    const { repository, ...rest } = parse(values).image;
    const { repository: _, ...before } = parse(read(valuesFile)).image;
    expect(repository).toBe("registry.example/team/operator");
    expect(rest).toEqual(before);
    expect(values.split("\n").length).toBe(read(valuesFile).split("\n").length);
  });

  it("keeps every other line of the values", () => {
    const back = withImageName(root, new Map(), imageName({})).get(valuesFile);
    expect(back).toBe(read(valuesFile));
  });
});
