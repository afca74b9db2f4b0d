import { afterAll, beforeAll, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeAll(async () => {
  stage = await openStage(new MemoryWorld(), "retired");
  coderd = await stage.controlPlane();
});
afterAll(() => stage[Symbol.asyncDispose]());

test("a retired key that can't be deleted keeps none of the others alive", async () => {
  await stage.serve("pool");
  const [organization] = coderd.organizations;
  const { name } = coderd.createKey(organization?.id ?? "", "pool-old", {});
  const lost = { name: "pool-lost", controlPlaneRefName: "gone", controlPlaneURL: stage.urlOf("gone") };
  const old = { name, controlPlaneRefName: "coder", controlPlaneURL: stage.urlOf("coder") };
  const status = { retiredKeys: [lost, old] };
  await stage.person.patchStatus(CoderProvisioner, stage.ref("pool"), { status });
  await stage.restart();
  await stage.eventually(() => expect(coderd.keys.map((key) => key.name)).not.toContain("pool-old"));
  await stage.eventually(async () => expect((await stage.status("pool")).retiredKeys).toMatchObject([lost]));
  await stage.untilCondition("pool", "ProvisionerKeyReady", { status: "True", reason: "OldKeyLeft" });
});
