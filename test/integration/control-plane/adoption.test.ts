import {
  type Client,
  Deployment,
  type Kind,
  type KubeObject,
  kind,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { adminClient, type ClusterAccess, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { type RunningOperator, startOperator } from "../../../lab/operator.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { earlierChildren } from "./earlier-children.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const ReplicaSet = kind<KubeObject>("apps/v1", { kind: "ReplicaSet", plural: "replicasets" });

/** What the earlier release put into its children, and the spec now still asks for. */
const spec: ControlPlaneSpec = {
  extraArgs: ["--verbose"],
  extraEnv: [{ name: "COLOR", value: "blue" }],
  nodeSelector: { disk: "ssd" },
  service: { annotations: { "example.com/pool": "a" } },
  serviceAccount: { labels: { team: "platform" }, annotations: { "example.com/role": "coder" } },
  rbac: { extraRules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }] },
};

let cluster: ClusterAccess;
let person: Client;
let earlier: Client;
beforeAll(async () => {
  cluster = await sharedClusterWithControllers();
  [person, earlier] = await Promise.all([adminClient(cluster), adminClient(cluster, "coder-k8s")]);
});

/** A control plane whose children an earlier release made, by POST and then by PUT, and rolled out. */
async function inherited(prefix: string): Promise<{ namespace: string; before: Stored<KubeObject>[] }> {
  const namespace = await cluster.createNamespace(prefix);
  const owner = await person.create(CoderControlPlane, aControlPlane({ namespace, spec }));
  const children = earlierChildren(owner);
  for (const { kind, object } of children) await earlier.create(kind, object);
  await eventually(async () => expect(await replicaSets(namespace)).toHaveLength(1), TIME_LIMIT);
  for (const { kind, object } of children) await replace(kind, namespace, object);
  const before = await Promise.all(
    children.map(({ kind, object }) => person.get(kind, { namespace, name: object.metadata?.name ?? "" })),
  );
  return { namespace, before };
}

/** PUT under the field manager of the operator. */
async function replace(kind: Kind, namespace: string, object: KubeObject): Promise<void> {
  const name = object.metadata?.name ?? "";
  const present = await person.get(kind, { namespace, name });
  const labels = { ...object.metadata?.labels, "example.com/put": "yes" };
  const metadata = { ...present.metadata, ...object.metadata, labels };
  const manifest = JSON.stringify({ ...present, ...object, metadata });
  const { code, stderr } = await cluster.kubectl(
    ["replace", "--field-manager=coder-k8s", "-f", "-"],
    manifest,
  );
  expect(code, stderr).toBe(0);
}

async function replicaSets(namespace: string): Promise<readonly Stored<KubeObject>[]> {
  return (await person.list(ReplicaSet, { namespace })).items;
}

async function settled(namespace: string): Promise<void> {
  await eventually(async () => {
    const { metadata, status } = await person.get(CoderControlPlane, { namespace, name: "coder" });
    expect(status?.observedGeneration).toBe(metadata.generation);
  }, TIME_LIMIT);
}

const kinds: readonly Kind[] = [ServiceAccount, Role, RoleBinding, Deployment, Service];

describe("children of an earlier release, made by POST and PUT", () => {
  let namespace: string;
  let before: Stored<KubeObject>[];
  let operator: RunningOperator;
  beforeAll(async () => {
    ({ namespace, before } = await inherited("earlier"));
    operator = await startOperator(cluster, { namespaces: [namespace] });
    await settled(namespace);
  });
  afterAll(() => operator?.stop());
  const now = () =>
    Promise.all(
      before.map(({ metadata }, index) =>
        person.get(kinds[index] as Kind, { namespace, name: metadata.name }),
      ),
    );

  test("were made by an Update-style manager of our name", () => {
    for (const { metadata } of [...before]) {
      expect(metadata.managedFields).toContainEqual(
        expect.objectContaining({ manager: "coder-k8s", operation: "Update" }),
      );
    }
  });

  test("are adopted in place: every one of them keeps its uid", async () => {
    expect((await now()).map(({ metadata }) => metadata.uid)).toEqual(
      before.map(({ metadata }) => metadata.uid),
    );
  });

  test("have one owner of our fields afterwards, by server-side apply", async () => {
    for (const { metadata } of await now()) {
      const ours = (metadata.managedFields ?? []).filter(
        ({ manager, subresource }) => manager === "coder-k8s" && !subresource,
      );
      expect(ours.map(({ operation }) => operation)).toEqual(["Apply"]);
    }
  });

  test("cause no rollout, because nothing relevant differs", async () => {
    const [, , , deployment] = before as Stored<Deployment>[];
    const { spec: adopted } = await person.get(Deployment, { namespace, name: "coder" });
    expect(adopted?.template).toEqual(deployment?.spec?.template);
    expect(await replicaSets(namespace)).toHaveLength(1);
  });

  test("lose fields that only an earlier release set", async () => {
    for (const { metadata } of await now()) expect(metadata.labels).not.toHaveProperty(["example.com/put"]);
  });

  test("are left in peace by a restart of the operator", async () => {
    const versions = (await now()).map(({ metadata }) => metadata.resourceVersion);
    await operator.stop();
    operator = await startOperator(cluster, { namespaces: [namespace] });
    await person.create(CoderControlPlane, aControlPlane({ namespace, name: "later" }));
    await eventually(() => person.get(Deployment, { namespace, name: "later" }), TIME_LIMIT);
    expect((await now()).map(({ metadata }) => metadata.resourceVersion)).toEqual(versions);
  });

  test("really lose a field that is removed from the spec later", async () => {
    const removed = Object.fromEntries(Object.keys(spec).map((field) => [field, null]));
    await person.mergePatch(CoderControlPlane, { namespace, name: "coder" }, { spec: removed });
    await settled(namespace);
    const [account, role, , deployment, service] = (await now()) as [
      Stored<ServiceAccount>,
      Stored<Role>,
      Stored<RoleBinding>,
      Stored<Deployment>,
      Stored<Service>,
    ];
    expect(Object.keys(account.metadata.annotations ?? {})).toEqual(["coder.com/applied-hash"]);
    expect(account.metadata.labels).not.toHaveProperty("team");
    expect(role.rules).toHaveLength(3);
    expect(Object.keys(service.metadata.annotations ?? {})).toEqual(["coder.com/applied-hash"]);
    const pod = deployment.spec?.template.spec;
    expect(pod?.nodeSelector).toBeUndefined();
    expect(pod?.containers[0]?.args).toEqual(["--http-address=0.0.0.0:8080"]);
    expect(pod?.containers[0]?.env?.map(({ name }) => name)).not.toContain("COLOR");
  });
});

describe("a control plane of an earlier release that changes while no operator runs", () => {
  let namespace: string;
  let workspaces: string;
  let before: Stored<KubeObject>[];
  let operator: RunningOperator;
  const start = () => startOperator(cluster, { namespaces: [namespace, workspaces] });
  const color = { secretKeyRef: { name: "colors", key: "color" } };
  const changed = {
    service: { port: 8000 },
    extraEnv: [{ name: "COLOR", value: null, valueFrom: color }],
    rbac: { extraRules: null },
  };
  beforeAll(async () => {
    ({ namespace, before } = await inherited("between"));
    workspaces = await cluster.createNamespace("between-workspaces");
    for (const [index, kind] of [Role, RoleBinding].entries()) {
      const { metadata, ...grant } = before[index + 1] as Stored<KubeObject>;
      const { name, labels, annotations } = metadata;
      const copy = { ...grant, metadata: { namespace: workspaces, name, labels, annotations } };
      await earlier.create(kind as Kind, copy as KubeObject);
    }
    const rbac = { ...changed.rbac, workspaceNamespaces: [workspaces] };
    await person.mergePatch(CoderControlPlane, { namespace, name: "coder" }, { spec: { ...changed, rbac } });
    operator = await start();
  });
  afterAll(() => operator?.stop());

  async function converged(): Promise<void> {
    await eventually(async () => {
      const { spec: service } = await person.get(Service, { namespace, name: "coder" });
      expect(service?.ports).toMatchObject([{ name: "http", port: 8000, targetPort: 8080 }]);
      const { spec: deployment } = await person.get(Deployment, { namespace, name: "coder" });
      const env = deployment?.template.spec?.containers[0]?.env ?? [];
      expect(env.find(({ name }) => name === "COLOR")).toEqual({ name: "COLOR", valueFrom: color });
      for (const granted of [namespace, workspaces]) {
        const [role] = (await person.list(Role, { namespace: granted })).items;
        expect(role?.rules).toHaveLength(3);
      }
    }, TIME_LIMIT);
  }

  test("gets what it says now: a moved port, a variable from a Secret, fewer rules here and in other namespaces", async () => {
    await converged();
    const grants = (await person.list(Role, { namespace: workspaces })).items;
    expect(grants.map(({ metadata }) => metadata.name)).toEqual([before[1]?.metadata.name]);
  });

  test("is rolled back to the earlier release, which writes its own fields, and forward again", async () => {
    await operator.stop();
    for (const [index, kind] of kinds.entries()) {
      const { metadata, ...content } = before[index] as Stored<KubeObject>;
      const { name, labels, annotations, ownerReferences } = metadata;
      await replace(kind, namespace, {
        ...content,
        metadata: { name, namespace, labels, annotations, ownerReferences },
      } as KubeObject);
    }
    operator = await start();
    await converged();
    await settled(namespace);
  });
});
