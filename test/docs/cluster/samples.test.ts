import { globSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStage, type Stage } from "../../integration/control-plane/stage.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { create, manifestsIn } from "../manifests.ts";
import { repository } from "../pages.ts";
import { reported } from "./reported.ts";

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

  test.for(samples)("$kind $metadata.name takes nothing that another has", async (sample) => {
    const conditions = await reported(sample, stage);
    expect(conditions).not.toEqual([]);
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
