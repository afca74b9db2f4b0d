import {
  Deployment,
  fnv1a32,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  type Stored,
} from "kube-controller-runtime";
import { answers, type LocalCluster, when } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOperatorCluster } from "../../../lab/cluster.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { openClusterStage, type Stage } from "./stage.ts";

const FINALIZER = "coder.com/workspace-rbac-cleanup";

let cluster: LocalCluster;
let stage: Stage;
beforeAll(async () => {
  // The whole cluster under the generated ClusterRole, with garbage collection and namespace deletion.
  cluster = await startOperatorCluster({ audit: true, controllerManager: true });
  stage = await openClusterStage(cluster, "home");
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

/** Roles and RoleBindings of a control plane in a namespace that is not its own. */
async function grantsIn(namespace: string, controlPlane: string): Promise<Stored<KubeObject>[]> {
  const labelSelector = `coder.com/control-plane=${controlPlane},coder.com/control-plane-namespace=${stage.namespace}`;
  const lists = await Promise.all(
    [Role, RoleBinding].map((kind: Kind) => stage.person.list(kind, { namespace, labelSelector })),
  );
  return lists.flatMap(({ items }) => items);
}

function untilGrants(namespace: string, controlPlane: string, count: 0 | 2): Promise<void> {
  return stage.eventually(async () => expect(await grantsIn(namespace, controlPlane)).toHaveLength(count));
}

/** A control plane with workspaces in as many new namespaces. */
async function withWorkspaceNamespaces(name: string, count: number): Promise<string[]> {
  const namespaces = await Promise.all(
    Array.from({ length: count }, () => cluster.createNamespace("workspaces")),
  );
  await stage.create(name, { rbac: { workspaceNamespaces: namespaces } });
  await Promise.all(namespaces.map((namespace) => untilGrants(namespace, name, 2)));
  return namespaces;
}

describe("workspace permissions in another namespace", () => {
  test("bind the same ServiceAccount, and carry labels and an annotation instead of an owner", async () => {
    const [namespace = ""] = await withWorkspaceNamespaces("labeled", 1);
    const { metadata } = await stage.controlPlane("labeled");
    const [role, binding] = await grantsIn(namespace, "labeled");
    const name = `labeled-${fnv1a32(`${stage.namespace}\0labeled`)}`;
    expect(role?.metadata.name).toBe(`${name}-workspace-perms`);
    expect(binding).toMatchObject({
      metadata: { name, annotations: { "coder.com/workspace-rbac-owner-uid": metadata.uid } },
      roleRef: { kind: "Role", name: role?.metadata.name },
      subjects: [{ kind: "ServiceAccount", name: "labeled", namespace: stage.namespace }],
    });
    expect([role?.metadata.ownerReferences, binding?.metadata.ownerReferences]).toEqual([
      undefined,
      undefined,
    ]);
    expect(metadata.finalizers).toEqual([FINALIZER]);
  });

  describe("are repaired when a client", () => {
    const label = "coder.com/control-plane";
    const edits: { what: string; kind: Kind; edit: object }[] = [
      { what: "empties the Role", kind: Role, edit: { rules: [] } },
      { what: "changes the subjects", kind: RoleBinding, edit: { subjects: [] } },
      { what: "takes our label off the Role", kind: Role, edit: { metadata: { labels: { [label]: null } } } },
      {
        what: "takes the common label off the RoleBinding",
        kind: RoleBinding,
        edit: { metadata: { labels: { "app.kubernetes.io/managed-by": null } } },
      },
    ];
    let namespace: string;
    beforeAll(async () => {
      [namespace = ""] = await withWorkspaceNamespaces("drifting", 1);
    });
    const find = async (kind: Kind) => {
      const labelSelector = "coder.com/control-plane=drifting";
      const { items } = await stage.person.list(kind, { namespace, labelSelector });
      if (!items[0]) throw new Error(`there is no ${kind.kind}`);
      return items[0];
    };

    test.each(edits)("$what", async ({ kind, edit }) => {
      const { metadata, ...content } = await find(kind);
      await stage.person.mergePatch(kind, { namespace, name: metadata.name }, edit);
      await stage.eventually(async () =>
        expect(await find(kind)).toMatchObject({ ...content, metadata: { labels: metadata.labels } }),
      );
    });

    test.each([Role, RoleBinding] as Kind[])("deletes the $kind", async (kind) => {
      const { metadata } = await find(kind);
      await stage.person.delete(kind, { namespace, name: metadata.name });
      const again = await stage.eventually(() => find(kind));
      expect(again.metadata.uid).not.toBe(metadata.uid);
    });
  });

  test("go from a namespace that leaves the list, and stay in the others", async () => {
    const [left = "", right = ""] = await withWorkspaceNamespaces("shrinking", 2);
    await stage.change("shrinking", { rbac: { workspaceNamespaces: [right] } });
    await untilGrants(left, "shrinking", 0);
    await untilGrants(right, "shrinking", 2);
    await stage.change("shrinking", { rbac: { workspaceNamespaces: null } });
    await untilGrants(right, "shrinking", 0);
    await stage.eventually(async () =>
      expect((await stage.controlPlane("shrinking")).metadata.finalizers ?? []).toEqual([]),
    );
  });

  test("go everywhere when workspacePerms is turned off", async () => {
    const [namespace = ""] = await withWorkspaceNamespaces("off", 1);
    await stage.change("off", { rbac: { workspacePerms: false } });
    await untilGrants(namespace, "off", 0);
  });

  test("follow a renamed ServiceAccount and leave nothing under the old name", async () => {
    const [namespace = ""] = await withWorkspaceNamespaces("renamed", 1);
    await stage.change("renamed", { serviceAccount: { name: "robot" } });
    await stage.eventually(async () => {
      const names = (await grantsIn(namespace, "renamed")).map(({ metadata }) => metadata.name);
      expect(names).toEqual([expect.stringMatching(/^robot-/), expect.stringMatching(/^robot-/)]);
    });
  });

  test("are made in every namespace that takes them, also after one that does not", async () => {
    const [refusing, willing] = [await cluster.createNamespace("a"), await cluster.createNamespace("b")];
    const name = `undaunted-${fnv1a32(`${stage.namespace}\0undaunted`)}`;
    const rival = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "rival" };
    await stage.person.create(RoleBinding, { metadata: { namespace: refusing, name }, roleRef: rival });
    await stage.create("undaunted", { rbac: { workspaceNamespaces: [refusing, willing] } });
    await stage.untilCondition("undaunted", "WorkspaceRBACReady", {
      status: "False",
      reason: "RoleBindingNotOurs",
    });
    await untilGrants(willing, "undaunted", 2);
  });

  test("that others created under our name are kept, even when the control plane is deleted", async () => {
    const namespace = await cluster.createNamespace("workspaces");
    const name = `polite-${fnv1a32(`${stage.namespace}\0polite`)}-workspace-perms`;
    const rival = await stage.person.create(Role, { metadata: { namespace, name }, rules: [] });
    await stage.create("polite", { rbac: { workspaceNamespaces: [namespace] } });
    const { message } = await stage.untilCondition("polite", "WorkspaceRBACReady", { reason: "RoleNotOurs" });
    expect(message).toContain(`Role "${namespace}/${name}"`);
    await stage.person.delete(CoderControlPlane, stage.ref("polite"));
    await stage.untilGone(CoderControlPlane, "polite");
    const { metadata } = await stage.person.get(Role, { namespace, name });
    expect(metadata.resourceVersion).toBe(rival.metadata.resourceVersion);
  });
});

// Side by side: the end of a namespace takes the cluster six seconds.
describe.concurrent("kubectl delete", () => {
  const remove = (name: string) =>
    cluster.kubectl(["delete", "ccp", name, "-n", stage.namespace, "--timeout=30s"]);

  test("removes the permissions in all namespaces, and what the control plane owns with it", async () => {
    const namespaces = await withWorkspaceNamespaces("deleted", 2);
    expect((await remove("deleted")).code).toBe(0);
    for (const namespace of namespaces) expect(await grantsIn(namespace, "deleted")).toEqual([]);
    await stage.untilGone(Deployment, "deleted");
  });

  test("waits for permissions that can't be removed yet", async () => {
    const [namespace = ""] = await withWorkspaceNamespaces("stuck", 1);
    const broken = answers(500);
    stage.operator.transport.fault = when(
      ({ method, path }) => method === "DELETE" && path.includes(namespace),
      broken,
    );
    const gone = remove("stuck");
    await stage.eventually(() =>
      expect(
        stage.operator.log.some(
          ({ msg, object }) => msg.startsWith("run failed") && object === `${stage.namespace}/stuck`,
        ),
      ).toBe(true),
    );
    expect(await stage.exists(CoderControlPlane, "stuck")).toBe(true);
    stage.operator.transport.fault = undefined;
    expect((await gone).code).toBe(0);
    expect(await grantsIn(namespace, "stuck")).toEqual([]);
  });

  test("is not blocked by a workspace namespace that is gone", async () => {
    const [namespace = ""] = await withWorkspaceNamespaces("orphan", 1);
    expect((await cluster.kubectl(["delete", "namespace", namespace, "--timeout=30s"])).code).toBe(0);
    const { message } = await stage.untilCondition("orphan", "WorkspaceRBACReady", {
      reason: "NamespaceMissing",
    });
    expect(message).toContain(`"${namespace}"`);
    expect((await remove("orphan")).code).toBe(0);
  });

  test("is not blocked by a workspace namespace that can't finish its own deletion", async () => {
    const [namespace = "", other = ""] = await withWorkspaceNamespaces("terminating", 2);
    const finalizers = ["example.com/never"];
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "anchor", finalizers },
    });
    await cluster.kubectl(["delete", "namespace", namespace, "--wait=false"]);
    await untilGrants(namespace, "terminating", 0);
    await stage.untilCondition("terminating", "WorkspaceRBACReady", { reason: "NamespaceMissing" });
    await untilGrants(other, "terminating", 2);
    expect((await remove("terminating")).code).toBe(0);
    expect(await grantsIn(other, "terminating")).toEqual([]);
  });
});

test("permissions come back by themselves with the namespace", { timeout: 90_000 }, async () => {
  const namespace = "comes-and-goes";
  await stage.create("waiting", { rbac: { workspaceNamespaces: [namespace] } });
  await stage.untilCondition("waiting", "WorkspaceRBACReady", { reason: "NamespaceMissing" });
  await cluster.kubectl(["create", "namespace", namespace]);
  await stage.timePasses(30_000);
  await untilGrants(namespace, "waiting", 2);
  await stage.untilCondition("waiting", "WorkspaceRBACReady", { status: "True" });
});
