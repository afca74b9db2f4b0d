import { globSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { openStage } from "../../integration/control-plane/stage.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { create, isForeign, manifestsIn } from "../manifests.ts";
import { pages, repository } from "../pages.ts";
import { reported } from "./reported.ts";

const files = globSync("examples/**/*.yaml", { cwd: repository }).sort();

/** What is applied together, by its path: a file, or all files of a folder. */
const examples = Map.groupBy(files, (file) => (dirname(file) === "examples" ? file : `${dirname(file)}/`));

/** What is missing where only this example was applied: Secrets, a license, pods, the Gateway API, an ingress controller. */
const expectable = [
  "GatewayAPIMissing",
  "IngressClassMissing",
  "NotFound",
  "OperatorAccessNotReady",
  "Pending",
  "RollingOut",
  "SecretMissing",
  "Starting",
  "WaitingForFirstAdmin",
];

describe.each([...examples])("%s", (_path, parts) => {
  const texts = parts.map((file) => readFileSync(repository + file, "utf8"));
  const manifests = texts.flatMap(manifestsIn).filter((manifest) => !isForeign(manifest));

  test("says in its first lines what it is and what it needs", () => {
    for (const text of texts) expect(text).toMatch(/^# [A-Z]/);
  });

  test("is validated strictly, and is complete except for the prerequisites in its first lines", async () => {
    await using stage = await openStage(sharedCluster(), "example");
    for (const manifest of manifests) {
      const { status, text: answer } = await create(manifest, stage.cluster, { ...stage, dryRun: false });
      expect(status, answer).toBe(201);
    }
    for (const manifest of manifests) {
      const conditions = await reported(manifest, stage);
      const failed = conditions.filter(({ type, status }) => type !== "Ready" && status === "False");
      for (const { reason, message } of failed) expect(expectable, message).toContain(reason);
    }
  });
});

test("both lists of examples have every file", () => {
  for (const path of ["examples/README.md", "docs/how-to/examples.md"]) {
    const page = pages.find((other) => other.path === path)?.text;
    for (const file of files) expect(page, path).toContain(basename(file));
  }
});
