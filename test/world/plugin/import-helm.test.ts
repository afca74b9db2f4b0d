import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TransportRequest } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { kubectlCoder, limited } from "../../support/plugin.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const world = new MemoryWorld();
const me = { transport: world.api, clock: world.clock, namespace: "coder" };
const marked = "s3cr3t-marker";
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-values-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function imported(values: string, ...flags: string[]) {
  const file = join(dir, "values.yaml");
  await writeFile(file, values);
  return kubectlCoder(me, "import", "helm", "coder", "--values", file, ...flags);
}
const coder = ["--chart", "coder@2.26.0"];

describe("a values file", () => {
  test("becomes a manifest whose lines a narrow terminal does not cut", async () => {
    const annotation = "long ".repeat(100).trim();
    const narrow = { ...me, columns: 40 };
    const file = join(dir, "long.yaml");
    await writeFile(file, `coder: { podAnnotations: { a: "${annotation}" } }`);
    const { out } = await kubectlCoder(narrow, "import", "helm", "coder", "--values", file, ...coder);
    expect(parse(out).spec.podAnnotations).toEqual({ a: annotation });
  });

  test.each([
    ["tabs", "if true; then\n\techo\tyes\nfi\n"],
    ["characters that no terminal shows", "a\u202eb\u0085c\u2028d\u009bm\n"],
    ["blanks at the ends of lines", "a  \nb\n"],
  ])("keeps %s of a text in a value", async (_, text) => {
    const { out } = await imported(JSON.stringify({ coder: { podAnnotations: { a: text } } }), ...coder);
    expect(parse(out).spec.podAnnotations).toEqual({ a: text });
    expect(out).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  });

  test("may be empty: then the chart's defaults run", async () => {
    const { code, out } = await imported("", ...coder);
    expect(code).toBe(0);
    expect(parse(out).spec).toMatchObject({
      image: "ghcr.io/coder/coder:v2.26.0",
      presets: { antiAffinity: true },
    });
  });

  test.each([
    ["without --chart", "a: 1", [], 2, /--chart coder/],
    ["of an unknown chart", "a: 1", ["--chart", "vault"], 2, /--chart coder/],
    ["without a version of the image", "a: 1", ["--chart", "coder"], 1, /coder@2\.26\.0/],
    ["that is not YAML", `a: [${marked}`, coder, 1, /does not contain a YAML map/],
    ["that is not a map", `- ${marked}`, coder, 1, /does not contain a YAML map/],
    ["that is too large", `a: ${"x".repeat(1024 * 1024)}`, coder, 1, /larger than 1 MiB/],
    ["that grows without end", bomb(), coder, 1, /does not contain a YAML map/],
  ])("%s is refused in words that quote none of it", async (_, values, flags, exit, words) => {
    const { code, out, error } = await imported(values, ...flags);
    expect(code).toBe(exit);
    expect(out).toBe("");
    expect(error).toMatch(words);
    expect(error).not.toContain(marked);
  });

  test("that does not exist is named", async () => {
    const file = join(dir, "none.yaml");
    const { code, error } = await kubectlCoder(me, "import", "helm", "coder", "--values", file, ...coder);
    expect({ code, error }).toEqual({ code: 1, error: `kubectl coder: ${file} can't be read: ENOENT.\n` });
  });

  test("that Kubernetes would refuse can't be compared, and the way to find out why is said", async () => {
    const { code, error } = await imported(
      "coder: { env: [{ name: A, value: { b: 1 } }] }",
      ...coder,
      "--check",
    );
    expect(code).toBe(1);
    expect(error).toMatch(/--dry-run=server/);
  });
});

describe("--check", () => {
  const check = async (allows: (request: TransportRequest) => boolean) => {
    const file = join(dir, "check.yaml");
    await writeFile(file, "{}");
    const person = { ...me, transport: limited(world.api, allows) };
    return kubectlCoder(person, "import", "helm", "coder", "--values", file, ...coder, "--check");
  };

  test("has no green verdict when nothing could be read", async () => {
    const { code, out } = await check(({ method, path }) => method === "GET" && !/namespaces\//.test(path));
    expect(code).toBe(3);
    expect(out).toContain('CoderControlPlane "coder" could not be compared with all current objects.');
    expect(out).toContain('You may not get deployments in namespace "coder".');
    expect(out).not.toContain("would run what runs now");
  });

  test("counts what it could compare beside what it could not", async () => {
    const { code, out } = await check(({ path }) => !/deployments/.test(path));
    expect(code).toBe(3);
    expect(out).toMatch(
      /would change \d+ fields of the current objects, and could not be compared with all current objects\./,
    );
  });
});

test.each(["Coder", "a_b", "a,name=b", "x".repeat(54)])("%s is not the name of a release", async (name) => {
  expect(await kubectlCoder(me, "import", "helm", name)).toMatchObject({ code: 2, out: "" });
});

/** Nine lists of nine of the one before. */
function bomb(): string {
  const lists = Array.from({ length: 9 }, (_, at) => `l${at + 1}: &l${at + 1} [${`*l${at},`.repeat(9)}]`);
  return `l0: &l0 [x]\n${lists.join("\n")}`;
}
