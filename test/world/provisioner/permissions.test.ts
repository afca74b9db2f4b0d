import { Role, RoleBinding, Secret, ServiceAccount } from "kube-controller-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: ProvisionerStage;
let team: string;
beforeAll(async () => {
  const world = new MemoryWorld();
  stage = await openStage(world, "permissions");
  team = await world.createNamespace("team");
  await stage.operator.stop();
  await stage.startOperator({ namespaces: [stage.namespace, team] });
  await stage.controlPlane();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const inTeam = async () => {
  const selection = { namespace: team, labelSelector: "app.kubernetes.io/managed-by=coder-k8s" };
  const [roles, bindings] = await Promise.all([
    stage.person.list(Role, selection),
    stage.person.list(RoleBinding, selection),
  ]);
  return [...roles.items, ...bindings.items];
};

test("daemons build workspaces in another namespace until it is off the list", async () => {
  await stage.serve("reaching");
  await stage.change("reaching", { rbac: { workspaceNamespaces: [team] } });
  await stage.eventually(async () => expect(await inTeam()).toHaveLength(2));
  await stage.untilStatus("reaching", { workspaceNamespaces: [team] });
  await stage.untilCondition("reaching", "WorkspaceRBACReady", { status: "True" });
  await stage.change("reaching", { rbac: { workspaceNamespaces: [] } });
  await stage.eventually(async () => expect(await inTeam()).toEqual([]));
});

test("a namespace that is off the list loses its grants also while the daemons have no key", async () => {
  await stage.serve("keyless");
  await stage.change("keyless", { rbac: { workspaceNamespaces: [team] } });
  await stage.eventually(async () => expect(await inTeam()).toHaveLength(2));
  await stage.change("keyless", { controlPlaneRef: { name: "missing" } });
  await stage.delete(Secret, "keyless-provisioner-key");
  await stage.untilCondition("keyless", "ControlPlaneReady", { status: "False" });
  await stage.change("keyless", { rbac: { workspaceNamespaces: [] } });
  await stage.eventually(async () => expect(await inTeam()).toEqual([]));
});

test("removed permissions are restored there, and all are deleted with the provisioner", async () => {
  await stage.serve("healed");
  await stage.change("healed", { rbac: { workspaceNamespaces: [team] } });
  await stage.eventually(async () => expect(await inTeam()).toHaveLength(2));
  const [role] = await inTeam();
  await stage.person.delete(Role, { namespace: team, name: role?.metadata.name ?? "" });
  await stage.eventually(async () => expect(await inTeam()).toHaveLength(2));
  await stage.delete(CoderProvisioner, "healed");
  await stage.untilGone(CoderProvisioner, "healed");
  expect(await inTeam()).toEqual([]);
});

test("nothing is granted in a namespace of Kubernetes, whatever the spec says", async () => {
  await stage.serve("greedy");
  await stage.change("greedy", { rbac: { workspaceNamespaces: ["kube-system"] } });
  const { message } = await stage.untilCondition("greedy", "WorkspaceRBACReady", {
    status: "False",
    reason: "NamespaceRefused",
  });
  expect(message).toContain("kube-system");
  expect((await stage.person.list(Role, { namespace: "kube-system" })).items).toEqual([]);
});

test("permissions can be turned off, and the ServiceAccount can be the user's own", async () => {
  await stage.serve("bare");
  await stage.person.create(ServiceAccount, { metadata: stage.ref("robot") });
  await stage.change("bare", {
    rbac: { workspacePerms: false },
    serviceAccount: { name: "robot", disableCreate: true },
  });
  await stage.untilGone(Role, "provisioner-bare");
  await stage.untilGone(ServiceAccount, "bare-provisioner");
  expect((await stage.get(ServiceAccount, "robot")).metadata.ownerReferences ?? []).toEqual([]);
});
