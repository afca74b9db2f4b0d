import { Role, RoleBinding } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

const secrets = { apiGroups: [""], resources: ["secrets"] };
const nodes = { apiGroups: [""], resources: ["nodes"] };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "grants");
});
afterAll(() => stage[Symbol.asyncDispose]());

describe("an extra rule with a verb that the operator does not hold itself", () => {
  test("becomes a condition that names the verb and the resource, and says what to do", async () => {
    // It holds `get` on Secrets, but not `update`.
    await stage.create("refused", { rbac: { extraRules: [{ ...secrets, verbs: ["get", "update"] }] } });
    const { message } = await stage.untilCondition("refused", "WorkspaceRBACReady", {
      status: "False",
      reason: "GrantRefused",
    });
    expect(message).toContain('Resources:["secrets"], Verbs:["update"]');
    expect(message).toContain("add");
    expect(message).not.toContain('"get"');
    expect((await stage.settled("refused")).status?.phase).toBe("Pending");
    await expect(stage.child(Role, "refused")).rejects.toThrow("0 roles");
  });

  test("is named with all others that are refused", async () => {
    const extraRules = [
      { ...secrets, verbs: ["update"] },
      { ...nodes, verbs: ["list", "watch"] },
    ];
    await stage.create("several", { rbac: { extraRules } });
    const { message } = await stage.untilCondition("several", "WorkspaceRBACReady", {
      reason: "GrantRefused",
    });
    expect(message).toContain('Resources:["secrets"], Verbs:["update"]');
    expect(message).toContain('Resources:["nodes"], Verbs:["list" "watch"]');
  });

  test("is granted after it was taken out of the spec", async () => {
    await stage.create("corrected", { rbac: { extraRules: [{ ...secrets, verbs: ["update"] }] } });
    await stage.untilCondition("corrected", "WorkspaceRBACReady", { reason: "GrantRefused" });
    await stage.change("corrected", { rbac: { extraRules: null } });
    await stage.untilCondition("corrected", "WorkspaceRBACReady", { status: "True" });
    expect((await stage.child(Role, "corrected")).rules).toHaveLength(3);
  });

  test("is granted once the operator has it, without a change of the object", async () => {
    await stage.create("allowed", { rbac: { extraRules: [{ ...secrets, verbs: ["deletecollection"] }] } });
    await stage.untilCondition("allowed", "WorkspaceRBACReady", { reason: "GrantRefused" });
    const metadata = stage.ref("more-for-the-operator");
    await stage.person.create(Role, { metadata, rules: [{ ...secrets, verbs: ["deletecollection"] }] });
    await stage.person.create(RoleBinding, {
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: stage.cluster.operator.user }],
    });
    await stage.untilCondition("allowed", "WorkspaceRBACReady", { status: "True" });
    expect((await stage.child(Role, "allowed")).rules?.at(-1)?.verbs).toEqual(["deletecollection"]);
  });
});

test("an operator of some namespaces makes no grant in another, and says so", async () => {
  const elsewhere = await stage.cluster.createNamespace("elsewhere");
  await stage.create("reaching", { rbac: { workspaceNamespaces: [elsewhere] } });
  const { message } = await stage.untilCondition("reaching", "WorkspaceRBACReady", {
    status: "False",
    reason: "NamespaceOutOfScope",
  });
  expect(message).toContain(`"${elsewhere}"`);
  expect(message).toContain("--namespaces");
  expect((await stage.person.list(Role, { namespace: elsewhere })).items).toEqual([]);
  // It holds the ClusterRole, so nothing but its scope keeps it out.
  expect((await stage.child(Role, "reaching")).rules).toHaveLength(3);
});
