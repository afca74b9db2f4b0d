import {
  Deployment,
  Ingress,
  type Kind,
  Service,
  ServiceAccount,
  type TransportRequest,
} from "kube-controller-runtime";
import { answers, when } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { failedRunsOf, statusOf, writeOf } from "../../support/failed-runs.ts";
import { ChildrenStage } from "../../support/stages/children.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const spec = { expose: { ingress: { host: "coder.example.com" } } };

const brokenStorage = answers(
  500,
  {},
  JSON.stringify({ kind: "Status", code: 500, reason: "InternalError", message: "the storage is broken" }),
);

let stage: ChildrenStage;
beforeEach(async () => {
  const world = new MemoryWorld();
  stage = new ChildrenStage(world, await world.createNamespace("failures"));
  await stage.startOperator();
});
afterEach(() => stage[Symbol.asyncDispose]());

const failuresOf = (name: string) => failedRunsOf(stage, name);

function untilRetried(name: string): Promise<void> {
  return stage.eventually(() => expect(failuresOf(name).length).toBeGreaterThan(2));
}

describe.each([
  ["serviceaccounts", "ServiceAccountReady"],
  ["roles", "WorkspaceRBACReady"],
  ["rolebindings", "WorkspaceRBACReady"],
  ["deployments", "DeploymentReady"],
  ["services", "ServiceReady"],
  ["ingresses", "ExposureReady"],
])("while writes of %s fail", (plural, condition) => {
  const name = `without-${plural}`;

  test("the error is reported in the status, the other children are created, and everything recovers once they work", async () => {
    stage.operator.transport.fault = when(writeOf(plural, name), brokenStorage);
    await stage.create(name, spec);
    const reported = await stage.untilCondition(name, condition, {
      status: "False",
      reason: "ApiServerUnavailable",
    });
    expect(reported.message).toContain("the storage is broken");
    await stage.untilCondition(name, "Ready", { status: "False" });
    for (const kind of [ServiceAccount, Deployment, Service, Ingress] as Kind[]) {
      expect(await stage.exists(kind, name), kind.kind).toBe(kind.plural !== plural);
    }
    await untilRetried(name);
    expect(failuresOf(name).join()).toContain("the storage is broken");

    stage.operator.transport.fault = undefined;
    await stage.untilCondition(name, condition, {
      reason: plural === "deployments" ? "RollingOut" : "Applied",
    });
  });
});

describe("while writes of the status fail", () => {
  test("children are made, the run is repeated, and the status follows once they work", async () => {
    stage.operator.transport.fault = when(statusOf("mute"), brokenStorage);
    await stage.create("mute", spec);
    await stage.eventually(async () => expect(await stage.exists(Ingress, "mute")).toBe(true));
    await untilRetried("mute");
    expect((await stage.controlPlane("mute")).status).toBeUndefined();
    stage.operator.transport.fault = undefined;
    expect((await stage.settled("mute")).status?.phase).toBe("Pending");
  });

  test("neither that error nor the one of a child hides the other", async () => {
    const either = (request: TransportRequest) =>
      statusOf("double")(request) || writeOf("services", "double")(request);
    stage.operator.transport.fault = when(either, brokenStorage);
    await stage.create("double");
    await untilRetried("double");
    const [first] = failuresOf("double");
    expect(first).toContain("apply Service");
    expect(first).toContain("patch CoderControlPlane");
    stage.operator.transport.fault = undefined;
    await stage.untilCondition("double", "ServiceReady", { status: "True" });
  });
});
