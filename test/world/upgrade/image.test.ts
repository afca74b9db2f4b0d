import { Deployment, Pod, type Stored } from "kube-controller-runtime";
import { answers, when } from "kube-controller-runtime/testing";
import { describe, expect, test } from "vitest";
import { NEW, OLD, openUpgradeStage, type UpgradeStage } from "./stage.ts";

const MISSING = "ghcr.io/coder/coder:v2.36.01";
const DIGEST = `ghcr.io/coder/coder@sha256:${"ab".repeat(32)}`;

/** The old version has never been stopped. */
async function expectServed(stage: UpgradeStage): Promise<void> {
  expect(stage.rollouts.alive()).toEqual([OLD, OLD]);
  expect((await stage.get(Deployment, "coder")).status?.readyReplicas).toBe(2);
  expect((await stage.status("coder")).upgrade?.downSince).toBeUndefined();
}

function refused(stage: UpgradeStage, reason: string, message: string) {
  return stage.untilCondition("coder", "Upgrading", {
    status: "False",
    reason,
    message: expect.stringContaining(message),
  });
}

function untilNoChecks(stage: UpgradeStage): Promise<void> {
  return stage.eventually(async () => expect(await stage.rollouts.imageChecks.pods()).toEqual([]));
}

describe("an image that can't be pulled", () => {
  test("stops no pod, and the upgrade goes on once the image exists", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: MISSING });
    await refused(stage, "ImagePullFailed", `image "${MISSING}" cannot be pulled`);
    await stage.untilCondition("coder", "Available", { status: "True" });
    await stage.timePasses(60 * 60_000);
    await expectServed(stage);
    stage.programs[MISSING] = { schema: 556, version: "v2.36.1" };
    await stage.untilStage("Completed");
    expect(stage.rollouts.violations).toEqual([]);
    await untilNoChecks(stage);
  });

  test("is forgotten with the pod that checks it when the spec names the old one again", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: MISSING });
    await refused(stage, "ImagePullFailed", MISSING);
    await stage.change("coder", { image: OLD });
    await stage.untilCondition("coder", "Ready", { status: "True" });
    await untilNoChecks(stage);
    await expectServed(stage);
  });

  test("is pulled again with a pull secret that was corrected", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: MISSING });
    await refused(stage, "ImagePullFailed", MISSING);
    await stage.change("coder", { imagePullSecrets: [{ name: "registry" }] });
    await stage.eventually(async () => {
      const [pod, ...others] = await stage.rollouts.imageChecks.pods();
      expect(pod?.spec?.imagePullSecrets).toEqual([{ name: "registry" }]);
      expect(others).toEqual([]);
    });
    await expectServed(stage);
  });
});

test("the version of a digest is learned before anything stops", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  stage.programs[DIGEST] = { schema: 330, version: "v2.23.1" };
  await stage.change("coder", { image: DIGEST });
  await refused(stage, "DowngradeRefused", "Version v2.23.1 is older than the running version v2.26.0");
  await expectServed(stage);
  await untilNoChecks(stage);
});

test("a digest of a later version is an upgrade whose version is recorded", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  stage.programs[DIGEST] = { schema: 556, version: "v2.36.1" };
  await stage.change("coder", { image: DIGEST });
  expect(await stage.untilStage("Completed")).toMatchObject({
    imageVersion: "v2.36.1",
    toVersion: "v2.36.1",
  });
  await untilNoChecks(stage);
});

describe("when the pod that checks the image", () => {
  test("is refused by a quota, the old version serves until there is room", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    const message =
      'pods "coder-image-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2';
    const body = { kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden", message };
    stage.operator.transport.fault = when(
      ({ method, path }) => method === "PATCH" && path.includes("/pods/coder-image-"),
      answers(403, {}, JSON.stringify(body)),
    );
    await stage.change("coder", { image: NEW });
    await refused(stage, "ImageCheckBlocked", "exceeded quota: small");
    await stage.timePasses(10 * 60_000);
    await expectServed(stage);
    stage.operator.transport.fault = undefined;
    await stage.untilStage("Completed");
    expect(stage.rollouts.violations).toEqual([]);
  });

  test("finds no node, the old version serves until there is one", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    stage.rollouts.hasRoom = false;
    await stage.change("coder", { image: NEW });
    await stage.timePasses(10 * 60_000);
    await refused(stage, "ImageCheckBlocked", "it cannot be scheduled");
    await expectServed(stage);
    stage.rollouts.hasRoom = true;
    await stage.untilStage("Completed");
  });

  test("has the name of a foreign pod, that pod stays", async () => {
    await using stage = await openUpgradeStage();
    await stage.settle();
    await stage.change("coder", { image: MISSING });
    await refused(stage, "ImagePullFailed", MISSING);
    const [check] = await stage.rollouts.imageChecks.pods();
    await stage.operator.stop();
    const { name = "" } = check?.metadata ?? {};
    await stage.delete(Pod, name);
    const { spec } = check as Stored<Pod>;
    await stage.person.create(Pod, { ...Pod, metadata: stage.ref(name), spec } as Pod);
    await stage.startOperator();
    await stage.untilCondition("coder", "Conflict", { status: "True", reason: "PodNotOurs" });
    await stage.timePasses(60_000);
    expect((await stage.get(Pod, name)).metadata.ownerReferences ?? []).toEqual([]);
    await expectServed(stage);
  });
});

test("the pod that checks the image is owned, and no selector of coderd's pods matches it", async () => {
  await using stage = await openUpgradeStage();
  await stage.settle();
  await stage.change("coder", { image: NEW });
  await stage.untilStage("Completed");
  const [check, ...others] = stage.rollouts.imageChecks.seen.values();
  expect(others).toEqual([]);
  expect(check?.metadata.ownerReferences).toMatchObject([{ kind: "CoderControlPlane", controller: true }]);
  const { matchLabels = {} } = (await stage.get(Deployment, "coder")).spec?.selector ?? {};
  expect(check?.metadata.labels).not.toMatchObject(matchLabels);
});
