import { answers, type Fault, when } from "kube-controller-runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { CoderControlPlane, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { bootstrap, openProxyStage } from "../../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../../support/world/memory.ts";
import { type CoderdStage, openCoderdStage, urlVariable } from "../coderd/stage.ts";

/** The API server never takes the request for this Secret, however often it is asked. */
function refusing(secret: string): Fault {
  const body = { kind: "Status", apiVersion: "v1", code: 400, reason: "BadRequest", message: "no such name" };
  return when(({ path }) => path.endsWith(`/secrets/${secret}`), answers(400, {}, JSON.stringify(body)));
}

async function tokenEvents(stage: CoderdStage) {
  return (await stage.events("coder")).filter(({ reason = "" }) => /^Token(Not)?Revoked$/.test(reason));
}

test("a control plane is deleted although the Secret with its database's URL can't be read", async () => {
  const stage = await openCoderdStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  stage.operator.transport.fault = refusing("odd");
  const secretKeyRef = { name: "odd", key: "url" };
  const extraEnv = [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }];
  await stage.create("coder", { extraEnv, operatorAccess: {} });
  await stage.eventually(async () => {
    expect((await stage.controlPlane("coder")).metadata.finalizers).toHaveLength(1);
  });
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  expect(stage.operator.log.map(({ msg }) => msg)).not.toContain("failed to revoke operator token");
});

test("a control plane that never had a token leaves none behind, also where its database is out of reach", async () => {
  const stage = await openCoderdStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  await stage.coderd("coder");
  const nowhere = "postgres://operator:some-password@127.0.0.1:1/nowhere";
  await stage.create("coder", { extraEnv: [urlVariable(nowhere)], operatorAccess: {} });
  await stage.untilServing("coder");
  await stage.untilCondition("coder", "OperatorAccessReady", { reason: "DatabaseUnreachable" });
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  expect(stage.operator.log.map(({ msg }) => msg)).not.toContain("failed to revoke operator token");
  expect(stage.counters.tokensLeftBehind).toBe(0);
});

test("a token that coderd or its database can't be asked to end is logged and counted", async () => {
  const stage = await openCoderdStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const coderd = await stage.coderd("coder");
  await stage.serve("coder", coderd);
  await stage.untilReady("coder");
  coderd.deployment.faults.inject({ fault: { kind: "cut" } });
  const nowhere = "postgres://operator:some-password@127.0.0.1:1/nowhere";
  await stage.change("coder", { extraEnv: [urlVariable(nowhere)] });
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  expect(stage.operator.log.map(({ msg }) => msg)).toContain("failed to revoke operator token");
  expect(stage.counters.tokensLeftBehind).toBe(1);
  const [left, ...others] = await tokenEvents(stage);
  expect(others).toEqual([]);
  expect(left).toMatchObject({ type: "Warning", reason: "TokenNotRevoked" });
  expect(left?.message).toContain('delete the tokens of user "coder-k8s-operator" in coderd');
});

test("one event says that the token of a deleted control plane is revoked, and what stays on purpose", async () => {
  const stage = await openCoderdStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  await stage.serve("coder", await stage.coderd("coder"));
  await stage.untilReady("coder");
  await stage.delete(CoderControlPlane, "coder");
  await stage.untilGone(CoderControlPlane, "coder");
  const message = `Revoked the operator's token. The user "coder-k8s-operator" remains in coderd and cannot log in.`;
  expect(await tokenEvents(stage)).toMatchObject([{ type: "Normal", reason: "TokenRevoked", message }]);
});

test("a proxy is deleted although the Secret with its credentials can't be read", async () => {
  const stage = await openProxyStage(new MemoryWorld(), "deletion");
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const coderd = await stage.coderd("far");
  await stage.create("edge", bootstrap(coderd));
  await stage.untilRegistered("edge");
  await stage.restart();
  await stage.untilIdle();
  const { transport } = stage.operator;
  transport.fault = refusing(coderd.credentials);
  await stage.putToken(coderd.credentials, "another");
  await stage.delete(CoderWorkspaceProxy, "edge");
  await stage.untilGone(CoderWorkspaceProxy, "edge");
});
