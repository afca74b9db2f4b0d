import { findCondition, type Kind } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Condition } from "../../src/api/v1alpha1/common.ts";
import {
  CoderControlPlane,
  CoderGroup,
  CoderOrganization,
  CoderProvisioner,
  CoderWorkspaceProxy,
} from "../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { type BrokenObject, brokenObjects } from "./broken-objects/cases.ts";
import { Fixture } from "./broken-objects/fixture.ts";
import { excerpt, page } from "./broken-objects/page.ts";
import { openStage, type Stage } from "./control-plane/stage.ts";

/** The page is written from what kubectl really prints: `vitest -u` renews it. */
const PAGE = "../../docs/reference/broken-objects.md";

const kinds: Record<BrokenObject["kind"], Kind> = {
  CoderControlPlane,
  CoderProvisioner,
  CoderWorkspaceProxy,
  CoderOrganization,
  CoderGroup,
};

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "broken");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function breakObject(
  { kind, name, spec, before, happens }: BrokenObject,
  fixture: Fixture,
): Promise<void> {
  await before?.(fixture);
  const { apiVersion } = kinds[kind];
  await stage.person.create(kinds[kind], { apiVersion, kind, metadata: stage.ref(name), spec } as object);
  await happens?.(fixture);
}

/** The output of kubectl once every condition of the page exists, and the event of the first. */
function described(broken: BrokenObject): Promise<string> {
  const { kind, name, shows, reason } = broken;
  const [first] = shows;
  return stage.eventually(async () => {
    const { status, metadata } = (await stage.get(kinds[kind], name)) as {
      status?: { conditions?: readonly Condition[]; observedGeneration?: number };
      metadata: { generation?: number };
    };
    expect(findCondition(status?.conditions, first)).toMatchObject({ reason });
    expect([reason, "Serving"]).toContain(findCondition(status?.conditions, "Ready")?.reason);
    expect(status?.observedGeneration).toBe(metadata.generation);
    const { stdout } = await stage.cluster.kubectl(["describe", kind, name, "-n", stage.namespace]);
    const text = excerpt(stdout, broken, stage.namespace);
    expect(text).toContain(`Events:\n  Warning  ${reason}  `);
    for (const type of shows) expect(text).toMatch(new RegExp(`Type: +${type}$`, "m"));
    return text;
  });
}

test("kubectl describe shows of every broken object what the page says", async () => {
  const fixture = new Fixture(stage);
  for (const broken of brokenObjects) await breakObject(broken, fixture);
  await stage.untilIdle();
  const texts: { broken: BrokenObject; text: string }[] = [];
  for (const broken of brokenObjects) texts.push({ broken, text: await described(broken) });
  expect(texts.length).toBeGreaterThanOrEqual(10);
  await expect(page(texts)).toMatchFileSnapshot(PAGE);
});
