import { globSync, readFileSync } from "node:fs";
import type { Condition, Kind, KubeObject } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as ourKinds from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type Stage } from "../../integration/control-plane/stage.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { create, manifestsIn } from "../manifests.ts";
import { repository } from "../pages.ts";

interface Reporting extends KubeObject {
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

const kinds = Object.values(ourKinds) as readonly Kind<Reporting>[];
const samples = globSync("config/samples/*.yaml", { cwd: repository })
  .sort()
  .flatMap((file) => manifestsIn(readFileSync(repository + file, "utf8")));

describe("all samples in one namespace", { timeout: 60_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(sharedCluster(), "all-samples");
    for (const sample of samples) {
      const { status, text } = await create(sample, stage.cluster, { ...stage, dryRun: false });
      expect(status, text).toBe(201);
    }
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test.for(samples)("$kind $metadata.name takes nothing that another has", async ({ kind, metadata }) => {
    const known = kinds.find((each) => each.kind === kind);
    if (!known) throw new Error(`the tests know no kind ${kind}`);
    const conditions = await eventually(
      async () => {
        const { status, metadata: stored } = await stage.get(known, metadata.name);
        expect(status?.observedGeneration).toBe(stored.generation);
        return status?.conditions ?? [];
      },
      { withinMs: 30_000 },
    );
    expect(conditions.filter(({ reason }) => /Conflict|NotOurs/.test(reason ?? ""))).toEqual([]);
  });

  test("no two control planes share a database", () => {
    const planes = samples.filter(({ kind }) => kind === "CoderControlPlane");
    const databases = planes.map(
      ({ spec }) => /"name":"(coder-(?:[a-z]+-)?(?:db|database))"/.exec(JSON.stringify(spec))?.[1],
    );
    expect(databases).not.toContain(undefined);
    expect(new Set(databases).size).toBe(planes.length);
  });
});
