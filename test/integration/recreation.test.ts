import { Deployment, type Kind, Secret, Service, ServiceAccount } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { acceptedAs } from "../../lab/coderd-database/database.ts";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { openStage, type ProvisionerStage } from "../support/stages/provisioner.ts";
import { TIME_LIMIT } from "../support/stages/stage.ts";
import { openRealWorld } from "../support/world/real.ts";
import { type CoderdStage, openCoderdStage, urlVariable } from "./coderd/stage.ts";

/*
 * The cluster of these tests has no garbage collector: children stay when their owner is deleted, as they do in a
 * cluster whose collector missed it.
 */

let stage: CoderdStage;
let pools: ProvisionerStage;
beforeAll(async () => {
  const cluster = sharedCluster();
  [stage, pools] = await Promise.all([
    openCoderdStage(cluster, "recreated"),
    openRealWorld(cluster).then((world) => openStage(world, "recreated-pool")),
  ]);
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await pools?.[Symbol.asyncDispose]();
});

test("a control plane that is deleted and recreated replaces what the previous one left, including its token", async () => {
  const coderd = await stage.coderd("coder");
  await stage.serve("coder", coderd);
  await stage.untilReady("coder");
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  const { metadata } = await stage.create("coder", {
    extraEnv: [urlVariable(coderd.database.url)],
    operatorAccess: {},
  });
  const ownerReferences = [{ uid: metadata.uid, controller: true }];
  await eventually(async () => {
    for (const kind of [Deployment, Service, ServiceAccount] as Kind[])
      expect((await stage.get(kind, "coder")).metadata).toMatchObject({ ownerReferences });
  }, TIME_LIMIT);
  await stage.world.markDeploymentReady(stage.namespace, "coder");
  await stage.untilReady("coder");
  expect((await stage.get(Secret, "coder-operator-token")).metadata).toMatchObject({ ownerReferences });
  expect(
    await stage
      .token("coder-operator-token")
      .then((token) => acceptedAs(coderd.database, token, stage.clock.now())),
  ).toBe("coder-k8s-operator (owner)");
  expect(await coderd.database.keys()).toHaveLength(1);
});

test("a provisioner that is deleted and recreated replaces the Secret of the previous one, and has one key", async () => {
  const coderd = await pools.controlPlane();
  await pools.serve("pool");
  await pools.person.delete(CoderProvisioner, pools.ref("pool"));
  await pools.untilGone(CoderProvisioner, "pool");
  const { metadata } = await pools.create("pool");
  const ownerReferences = [{ uid: metadata.uid, controller: true }];
  await eventually(async () => {
    expect((await pools.get(Deployment, "provisioner-pool")).metadata).toMatchObject({ ownerReferences });
  }, TIME_LIMIT);
  await pools.rollOut("pool");
  await pools.untilSettled("pool");
  expect((await pools.get(Secret, "pool-provisioner-key")).metadata).toMatchObject({ ownerReferences });
  expect(coderd.keys.map(({ plaintext }) => plaintext)).toEqual([await pools.keyIn("pool-provisioner-key")]);
});
