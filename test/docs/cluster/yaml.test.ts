import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type Helm, helmFor } from "../../support/helm.ts";
import { create, isForeign, manifestsIn } from "../manifests.ts";
import { blocks } from "../pages.ts";

const cluster = sharedCluster();
let helm: Helm;
let namespace: string;
beforeAll(async () => {
  helm = await helmFor(cluster);
  namespace = await cluster.createNamespace("docs");
});
afterAll(() => helm?.[Symbol.asyncDispose]());

/** The kind of a block without objects for the API server, by its first line. */
const files: Readonly<Record<string, (text: string) => Promise<void>>> = {
  "values.yaml": takenByChart,
  "prometheus.yml": async (text) => void parse(text),
};

async function takenByChart(text: string): Promise<void> {
  const release = { name: "coder-k8s", namespace: "coder-system", values: parse(text) as object };
  const { code, stderr } = await helm.release("template", release);
  expect(code, stderr).toBe(0);
}

async function takenByApiServer(text: string): Promise<void> {
  for (const manifest of manifestsIn(text).filter((each) => !isForeign(each))) {
    const { status, text: answer } = await create(manifest, cluster, { namespace, dryRun: true });
    expect(status, answer).toBe(201);
  }
}

describe("YAML in the documentation is accepted unchanged", () => {
  const yaml = blocks.filter(({ language }) => language === "yaml");

  test.each(yaml)("$page:$line", async ({ text }) => {
    const [, file] = /^# ([\w.-]+\.ya?ml)\n/.exec(text) ?? [];
    const check = file === undefined ? takenByApiServer : files[file];
    if (!check) throw new Error(`no check for the file ${file}`);
    await check(text);
  });
});

test("every block is in a language that a test looks at, or is output", () => {
  const known = new Set(["console", "sh", "text", "yaml"]);
  expect(blocks.filter(({ language }) => !known.has(language))).toEqual([]);
});
