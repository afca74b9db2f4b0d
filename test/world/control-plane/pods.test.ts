import { Deployment, Role, Secret } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlaneStage, openControlPlaneStage } from "./stage.ts";

let stage: ControlPlaneStage;
beforeEach(async () => {
  stage = await openControlPlaneStage("pods");
});
afterEach(() => stage[Symbol.asyncDispose]());

test("a Secret of envFrom that vanishes changes nothing about the pods, and one that loses its key does", async () => {
  await stage.putSecret("settings", { CODER_ACCESS_URL: "https://coder.example.com" });
  await stage.serve("coder", { envFrom: [{ secretRef: { name: "settings" } }] });
  await stage.untilIdle();
  const generation = async () => (await stage.get(Deployment, "coder")).metadata.generation;
  const before = await generation();
  await stage.delete(Secret, "settings");
  await stage.touch("coder", "the Secret has vanished");
  await stage.untilIdle();
  expect(await generation()).toBe(before);
  await stage.putSecret("settings", { OTHER: "value" });
  await stage.eventually(async () => expect(await generation()).not.toBe(before));
});

test("permissions in a namespace out of the operator's scope are reported with how to remove them", async () => {
  await stage.operator.stop();
  await stage.startOperator({ namespaces: [stage.namespace, "team"], database: stage.tokens });
  await stage.create("coder", { rbac: { workspaceNamespaces: ["team"] } });
  await stage.untilStatus("coder", { workspaceNamespaces: ["team"] });
  await stage.operator.stop();
  await stage.startOperator({ database: stage.tokens });
  await stage.untilCondition("coder", "WorkspaceRBACReady", { reason: "NamespaceOutOfScope" });
  await stage.change("coder", { rbac: { workspaceNamespaces: [] } });
  await stage.eventually(async () => {
    const left = (await stage.events("coder")).filter(({ reason }) => reason === "GrantsLeftBehind");
    expect(left).toMatchObject([{ type: "Warning", count: 1 }]);
    expect(left[0]?.message).toContain(
      "kubectl -n team delete roles,rolebindings -l coder.com/control-plane=coder",
    );
  });
  await stage.eventually(async () =>
    expect(await stage.status("coder")).not.toHaveProperty("workspaceNamespaces"),
  );
  expect((await stage.person.list(Role, { namespace: "team" })).items).toHaveLength(1);
});
