import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { controlPlaneDefinition } from "../../src/api/v1alpha1/definitions.ts";
import { object, optional, text } from "../../src/api/v1alpha1/schema.ts";
import { differences, presentFiles, writeFiles } from "./compare.ts";
import { customResourceDefinition } from "./crd.ts";
import { definitionsOf, readSnapshot } from "./kubernetes.ts";
import { generatedFiles, generatedMark } from "./outputs.ts";
import { withReleaseNames } from "./release-names.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "generate-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(path: string, content: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), content);
}

describe("differences", () => {
  it("are none between equal sets", () => {
    expect(differences(new Map([["a", "1"]]), new Map([["a", "1"]]))).toEqual([]);
  });

  it("name every missing, stale and left-over file", () => {
    const wanted = new Map([
      ["stale", "new"],
      ["missing", "new"],
      ["same", "1"],
    ]);
    const present = new Map([
      ["stale", "old"],
      ["same", "1"],
      ["left", "over"],
    ]);
    expect(differences(wanted, present)).toEqual([
      { path: "left", because: "no longer generated" },
      { path: "missing", because: "missing" },
      { path: "stale", because: "out of date" },
    ]);
  });

  it("show a schema that changed after its CRD was generated", () => {
    const path = "config/crd/coder.com_codercontrolplanes.yaml";
    const generate = (definition: typeof controlPlaneDefinition) =>
      new Map([[path, JSON.stringify(customResourceDefinition(definition, definitionsOf(readSnapshot())))]]);
    const changed = {
      ...controlPlaneDefinition,
      spec: object("Spec.", { color: optional(text("A color.")) }),
    };
    expect(differences(generate(changed), generate(controlPlaneDefinition))).toEqual([
      { path, because: "out of date" },
    ]);
  });
});

describe("files on disk", () => {
  it("are generated to the same last byte each time", () => {
    expect([...generatedFiles()]).toEqual([...generatedFiles()]);
  });

  it("equal the generated ones after writing them", () => {
    const wanted = generatedFiles();
    writeFiles(root, wanted, differences(wanted, presentFiles(root)));
    expect(differences(wanted, presentFiles(root))).toEqual([]);
  });

  it("are removed when they are no longer generated", () => {
    put("config/crd/gone.yaml", `# ${generatedMark}\n`);
    const wanted = new Map<string, string>();
    writeFiles(root, wanted, differences(wanted, presentFiles(root)));
    expect(presentFiles(root).size).toBe(0);
  });

  it("are left alone when a person wrote them", () => {
    put("docs/reference/flags.md", "# Flags\n");
    const wanted = new Map<string, string>();
    writeFiles(root, wanted, differences(wanted, presentFiles(root)));
    expect(readFileSync(join(root, "docs/reference/flags.md"), "utf8")).toBe("# Flags\n");
  });

  it("in this repository are up to date", () => {
    const repository = join(import.meta.dirname, "../..");
    const present = new Map(presentFiles(repository));
    // Rendering it requires helm: the integration test of the chart does that.
    expect(present.delete("config/install.yaml")).toBe(true);
    expect(differences(withReleaseNames(repository, generatedFiles()), present)).toEqual([]);
  });
});
