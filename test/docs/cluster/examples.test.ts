import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { eventually } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import type { Condition } from "../../../src/api/v1alpha1/common.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type Stage } from "../../integration/control-plane/stage.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import type { Manifest } from "../../support/helm.ts";
import { create, isForeign, manifestsIn } from "../manifests.ts";
import { pages, repository } from "../pages.ts";

const files = globSync("examples/*.yaml", { cwd: repository }).sort();
const watched = [CoderControlPlane, CoderProvisioner];

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
];

describe.each(files)("%s", (file) => {
  const text = readFileSync(repository + file, "utf8");
  const manifests = manifestsIn(text).filter((manifest) => !isForeign(manifest));

  test("says in its first lines what it is and what it needs", () => {
    expect(text).toMatch(/^# [A-Z]/);
  });

  test("is taken strictly, and lacks nothing but what its first lines ask for", async () => {
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

/** The conditions of an object of ours, once the operator has looked at it. */
async function reported({ kind: name, metadata }: Manifest, stage: Stage): Promise<readonly Condition[]> {
  const kind = watched.find((known) => known.kind === name);
  if (!kind) return [];
  return eventually(
    async () => {
      const { status, metadata: stored } = await stage.get(kind, metadata.name);
      expect(status?.observedGeneration).toBe(stored.generation);
      return status?.conditions ?? [];
    },
    { withinMs: 20_000 },
  );
}

test("both lists of examples have every file", () => {
  for (const path of ["examples/README.md", "docs/how-to/examples.md"]) {
    const page = pages.find((other) => other.path === path)?.text;
    for (const file of files) expect(page, path).toContain(basename(file));
  }
});
