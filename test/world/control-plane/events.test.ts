import { CoreEvent, Deployment, Secret, ServiceAccount } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("events");
});
afterEach(() => stage[Symbol.asyncDispose]());

async function events(reason: string): Promise<string[]> {
  const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace });
  return items.filter((event) => event.reason === reason).map(({ message = "" }) => message);
}

test("scaling a Deployment of ours causes one event that says that it was reverted", async () => {
  await stage.serve("coder");
  await stage.untilCondition("coder", "OperatorAccessReady", { status: "True" });
  await stage.untilIdle();
  expect(await events("Reverted")).toEqual([]);
  for (const replicas of [5, 0]) {
    await stage.person.mergePatch(Deployment, stage.ref("coder"), { spec: { replicas } });
    await stage.eventually(async () => {
      expect((await stage.get(Deployment, "coder")).spec?.replicas).toBe(1);
    });
  }
  await stage.timePasses(60_000);
  expect(await events("Reverted")).toEqual([
    'Reverted changes of another client to Deployment "coder" in fields that the operator manages.',
  ]);
});

test("a change of the spec is not reported as a reverted change", async () => {
  await stage.serve("coder");
  await stage.change("coder", { replicas: 3, imagePullPolicy: "Always" });
  await stage.eventually(async () => {
    expect((await stage.get(Deployment, "coder")).spec?.replicas).toBe(3);
  });
  await stage.untilIdle();
  expect(await events("Reverted")).toEqual([]);
});

test("the event about created objects lists those of the spec and nothing else", async () => {
  await stage.create("coder", { rbac: { workspacePerms: false } });
  await stage.eventually(async () => {
    expect(await events("Created")).toEqual([
      'ServiceAccount "coder" exists. Service "coder" serves port 80.',
    ]);
  });
  await stage.untilCondition("coder", "ExposureReady", { status: "True", reason: "NotRequested" });
  await stage.untilCondition("coder", "WorkspaceRBACReady", { status: "True", reason: "NotRequested" });
});

test("the event about another token says what was wrong with the one before", async () => {
  await stage.serve("coder");
  await stage.untilCondition("coder", "OperatorAccessReady", { status: "True" });
  await stage.delete(Secret, "coder-operator-token");
  await stage.eventually(async () => {
    expect(await events("TokenIssued")).toEqual([
      'The Secret had no token; stored a new one in Secret "coder-operator-token".',
    ]);
  });
});

test("a ServiceAccount that the user was to make is missed until it exists", async () => {
  await stage.create("coder", { serviceAccount: { name: "nonesuch", disableCreate: true } });
  const { message } = await stage.untilCondition("coder", "ServiceAccountReady", {
    status: "False",
    reason: "ServiceAccountMissing",
  });
  expect(message).toContain('ServiceAccount "nonesuch" does not exist');
  await stage.untilCondition("coder", "Ready", { status: "False" });
  const metadata = stage.ref("nonesuch");
  await stage.person.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  await stage.untilCondition("coder", "ServiceAccountReady", { status: "True", reason: "Found" });
  await stage.delete(ServiceAccount, "nonesuch");
  await stage.untilCondition("coder", "ServiceAccountReady", { reason: "ServiceAccountMissing" });
});
