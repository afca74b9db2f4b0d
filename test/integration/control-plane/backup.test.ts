import { readFile } from "node:fs/promises";
import { Deployment, type KubeObject, kind, Pod, type Stored } from "kube-controller-runtime";
import { type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { pullImage } from "../../support/image-check.ts";
import { openStage, type Stage } from "./stage.ts";

const OLD = "coder:v2.26.0";
const NEW = "coder:v2.36.1";
const HOUR_MS = 60 * 60_000;
const OBSTACLE_RETRY_MS = 30_000;
const TIME_LIMIT = { withinMs: 30_000 };

interface Backup extends KubeObject {
  spec?: { cluster?: { name?: string }; method?: string };
  status?: { phase?: string };
}

const Backup = kind<Backup>("postgresql.cnpg.io/v1", { kind: "Backup", plural: "backups" });
const Cluster = kind<KubeObject>("postgresql.cnpg.io/v1", { kind: "Cluster", plural: "clusters" });

let cluster: ClusterAccess;
let stage: Stage;
beforeAll(async () => {
  // The only file that installs backups of CloudNativePG there.
  cluster = await sharedClusterWithControllers();
  stage = await openStage(cluster, "backup");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function backups(): Promise<readonly Stored<Backup>[]> {
  return (await stage.person.list(Backup, { namespace: stage.namespace })).items;
}

/** The backup of the current attempt, once there are this many. */
function backup(count: number): Promise<Stored<Backup>> {
  return eventually(async () => {
    const items = await backups();
    expect(items).toHaveLength(count);
    const { upgrade } = (await stage.controlPlane("coder")).status ?? {};
    return items.find(({ metadata }) => metadata.name === upgrade?.backup) ?? expect.fail("another one");
  }, TIME_LIMIT);
}

async function end({ metadata }: Stored<Backup>, phase: "completed" | "failed"): Promise<void> {
  await stage.person.patchStatus(Backup, metadata, { status: { phase } });
}

async function untilFailed(message: string): Promise<void> {
  const condition = await stage.untilCondition("coder", "Upgrading", {
    status: "False",
    reason: "BackupFailed",
    message: expect.stringContaining(message),
  });
  expect(condition.message).toContain("so nothing was changed");
  await expectUnchanged();
}

async function expectUnchanged(): Promise<void> {
  const { spec } = await stage.get(Deployment, "coder");
  expect(spec).toMatchObject({ replicas: 1, template: { spec: { containers: [{ image: OLD }] } } });
}

/** Another spec is another attempt. A second later it has another name. */
async function tryAgain(attempt: string): Promise<void> {
  await stage.timePasses(1_000);
  await stage.change("coder", { podAnnotations: { attempt } });
  await pullImage(stage, "v2.36.1");
}

// One story in order: each test begins where the one before it ended.
describe("a backup of CloudNativePG before an upgrade", () => {
  test("keeps the upgrade from beginning while CloudNativePG is not installed", async () => {
    const pluginConfiguration = { name: "barman-cloud.cloudnative-pg.io" };
    const cloudNativePG = { clusterName: "db", method: "plugin" as const, pluginConfiguration };
    const upgrade = { backup: { cloudNativePG, timeoutSeconds: 600 } };
    await stage.create("coder", { image: OLD, operatorAccess: { disabled: true }, upgrade });
    await eventually(() => stage.get(Deployment, "coder"), TIME_LIMIT);
    await stage.untilStatus("coder", { image: OLD });
    await stage.change("coder", { image: NEW });
    await stage.untilCondition("coder", "Upgrading", { status: "False", reason: "BackupUnavailable" });
    await expectUnchanged();
  });

  test("is created once the cluster in the spec exists, and stops the upgrade when it fails", async () => {
    await cluster.apply(
      await readFile(new URL("../../fixtures/cloud-native-pg.yaml", import.meta.url), "utf8"),
    );
    // The API server serves a kind some time after its definition.
    await eventually(backups, TIME_LIMIT);
    await eventually(
      () => stage.person.create(Cluster, { ...Cluster, metadata: stage.ref("db") }),
      TIME_LIMIT,
    );
    await stage.timePasses(OBSTACLE_RETRY_MS);
    await pullImage(stage, "v2.36.1");
    const made = await backup(1);
    const pluginConfiguration = { name: "barman-cloud.cloudnative-pg.io" };
    expect(made.spec).toMatchObject({ cluster: { name: "db" }, method: "plugin", pluginConfiguration });
    await end(made, "failed");
    await untilFailed(`Backup "${made.metadata.name}" of CloudNativePG failed`);
  });

  test("stops the upgrade when it takes longer than it may", async () => {
    await tryAgain("late");
    await backup(2);
    await stage.untilCondition("coder", "Upgrading", { status: "True", reason: "BackingUp" });
    await stage.timePasses(HOUR_MS);
    await untilFailed("The backup did not complete within 600 s.");
  });

  test("allows the upgrade to continue when it is complete, even if the Deployment is paused", async () => {
    await stage.person.mergePatch(Deployment, stage.ref("coder"), { spec: { paused: true } });
    const [late] = (await backups()).filter(({ status }) => status?.phase === undefined);
    await tryAgain("completed");
    await stage.untilCondition("coder", "Upgrading", {
      reason: "BackingUp",
      message: expect.stringContaining("from an earlier attempt"),
    });
    await end(late ?? expect.fail("none"), "failed");
    await end(await backup(3), "completed");
    await stage.untilCondition("coder", "Upgrading", { status: "True", reason: "Migrating" });
    await eventually(async () => {
      const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
      expect(items.map(({ spec }) => spec?.containers[0]?.image)).toEqual([NEW]);
    }, TIME_LIMIT);
  });

  test("outlives the control plane", async () => {
    await stage.delete(CoderControlPlane, "coder");
    await stage.untilGone(Deployment, "coder");
    const left = await backups();
    expect(left).toHaveLength(3);
    for (const { metadata } of left) expect(metadata.ownerReferences).toBeUndefined();
  });
});
