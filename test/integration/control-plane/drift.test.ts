import {
  type Client,
  Deployment,
  Ingress,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { openStage, type Stage } from "./stage.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const HOUR_MS = 60 * 60 * 1_000;
const host = "coder.example.com";
const spec: ControlPlaneSpec = {
  expose: { ingress: { host } },
  serviceAccount: { annotations: { "example.com/role": "coder" } },
  service: { annotations: { "example.com/pool": "a" } },
};
const kinds: readonly Kind[] = [ServiceAccount, Role, RoleBinding, Deployment, Service, Ingress];

let stage: Stage;
let injector: Client;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "drift");
  injector = await adminClient(stage.cluster, "injector");
  await stage.create("coder", spec);
  await stage.settled("coder");
});
afterAll(() => stage[Symbol.asyncDispose]());

const child = <T extends KubeObject>(kind: Kind<T>) => stage.child(kind, "coder");

/** What an apply of ours decides: the object without what changes by itself. */
function content(object: Stored<KubeObject>): object {
  const { managedFields, resourceVersion, generation, ...metadata } = object.metadata;
  const { status, ...rest } = object as Stored<KubeObject> & { status?: unknown };
  return { ...rest, metadata };
}

test("a field that excludes one of the operator's is taken over from the user who set it", async () => {
  const container = async () => (await child(Deployment)).spec?.template.spec?.containers[0];
  const env = (await container())?.env ?? [];
  const index = env.findIndex(({ name }) => name === "CODER_ACCESS_URL");
  const path = `/spec/template/spec/containers/0/env/${index}`;
  const value = { name: "CODER_ACCESS_URL", valueFrom: { secretKeyRef: { name: "mine", key: "url" } } };
  await injector.jsonPatch(Deployment, { namespace: stage.namespace, name: "coder" }, [
    { op: "replace", path, value },
  ]);
  await eventually(async () => expect((await container())?.env).toEqual(env), TIME_LIMIT);
});

describe("a manual edit is reverted", () => {
  const labels = { "app.kubernetes.io/managed-by": null };
  const edits: { what: string; kind: Kind; edit: object }[] = [
    {
      what: "an annotation",
      kind: ServiceAccount,
      edit: { metadata: { annotations: { "example.com/role": "admin" } } },
    },
    { what: "removed rules", kind: Role, edit: { rules: [] } },
    { what: "other subjects", kind: RoleBinding, edit: { subjects: [{ kind: "User", name: "mallory" }] } },
    { what: "the number of replicas", kind: Deployment, edit: { spec: { replicas: 7 } } },
    {
      what: "a port",
      kind: Service,
      edit: { spec: { ports: [{ name: "http", port: 80, targetPort: 22 }] } },
    },
    { what: "a host", kind: Ingress, edit: { spec: { rules: [{ host: "elsewhere.example.com" }] } } },
    ...kinds.map((kind) => ({ what: "the label we find it by", kind, edit: { metadata: { labels } } })),
    ...kinds.map((kind) => ({
      what: "the owner reference",
      kind,
      edit: { metadata: { ownerReferences: null } },
    })),
  ];

  test.each(edits)("$what of the $kind.kind", async ({ kind, edit }) => {
    const before = await child(kind);
    const edited = await stage.person.mergePatch(kind, stage.ref(before.metadata.name), edit);
    expect(content(edited)).not.toEqual(content(before));
    await eventually(async () => expect(content(await child(kind))).toEqual(content(before)), TIME_LIMIT);
  });

  test("the image, changed with kubectl", async () => {
    const set = ["set", "image", "deployment/coder", "coder=example.invalid/evil:1", "-n", stage.namespace];
    expect((await stage.cluster.kubectl(set)).code).toBe(0);
    await eventually(
      async () =>
        expect((await child(Deployment)).spec?.template.spec?.containers[0]?.image).toBe(
          "ghcr.io/coder/coder:latest",
        ),
      TIME_LIMIT,
    );
  });

  test.each(kinds)("the deletion of the $kind", async (kind) => {
    const before = await child(kind);
    await stage.person.delete(kind, stage.ref(before.metadata.name));
    const made = await eventually(() => child(kind), TIME_LIMIT);
    expect(made.metadata.uid).not.toBe(before.metadata.uid);
  });
});

describe("fields that others add are kept", () => {
  let countedFrom: number;
  beforeEach(async () => {
    await stage.touch("coder", "the repairs of others are over");
    countedFrom = (await stage.writes()).length;
  });
  // How often something was set back before is counted in its event a little later.
  const writesSince = async () =>
    (await stage.writes()).slice(countedFrom).filter(({ resource }) => resource !== "events");

  test("an annotation and a label on every child cause not a single write", async () => {
    const metadata = { annotations: { "injector.example.com/seen": "yes" }, labels: { team: "sre" } };
    for (const kind of kinds) {
      const { name } = (await child(kind)).metadata;
      await stage.whenSeen(() => injector.mergePatch(kind, stage.ref(name), { metadata }));
    }
    await anHourPasses();
    expect(await writesSince()).toEqual([]);
    for (const kind of kinds) expect((await child(kind)).metadata).toMatchObject(metadata);
  });

  test("a sidecar, a variable and a pod annotation stay in the Deployment and start no fight", async () => {
    const [coder] = (await child(Deployment)).spec?.template.spec?.containers ?? [];
    const sidecar = { name: "sidecar", image: "example.invalid/sidecar:1" };
    const traced = { name: "coder", env: [{ name: "TRACED", value: "yes" }] };
    const template = {
      metadata: { annotations: { "injector.example.com/seen": "yes" } },
      spec: { containers: [traced, sidecar] },
    };
    const injected = { metadata: stage.ref("coder"), spec: { template } } as KubeObject;
    await stage.whenSeen(() => injector.apply<KubeObject>(Deployment, injected));
    await noFight(1);
    const stored = (await child(Deployment)).spec?.template;
    expect(stored?.metadata?.annotations).toEqual({ "injector.example.com/seen": "yes" });
    expect(stored?.spec?.containers).toMatchObject([
      { ...coder, env: [...(coder?.env ?? []), ...traced.env] },
      sidecar,
    ]);
  });

  test("a field that we leave to its default keeps the value of another client", async () => {
    const strategy = { type: "Recreate", rollingUpdate: null };
    const spec = { strategy, revisionHistoryLimit: 3 };
    await stage.whenSeen(() => stage.person.mergePatch(Deployment, stage.ref("coder"), { spec }));
    const sticky = { spec: { sessionAffinity: "ClientIP" } };
    await stage.whenSeen(() => stage.person.mergePatch(Service, stage.ref("coder"), sticky));
    await noFight(2);
    expect((await child(Deployment)).spec).toMatchObject({
      strategy: { type: "Recreate" },
      revisionHistoryLimit: 3,
    });
    expect((await child(Service)).spec?.sessionAffinity).toBe("ClientIP");
  });

  test("a status of the Deployment alone writes our status once and nothing else", async () => {
    await stage.cluster.markDeploymentReady(stage.namespace, "coder");
    await stage.untilCondition("coder", "Ready", { status: "True" });
    await anHourPasses();
    const written = (await writesSince()).filter(({ resource }) => resource !== "events");
    expect(written.map(({ resource, subresource }) => [resource, subresource])).toEqual([
      ["codercontrolplanes", "status"],
    ]);
  });

  /** At most one read of each child that another client changed, then no requests. */
  async function noFight(atMost: number): Promise<void> {
    const written = await writesSince();
    expect(written.length).toBeLessThanOrEqual(atMost);
    await anHourPasses();
    expect(await writesSince()).toEqual(written);
  }

  /** By the operator's clock, so that all it has put off comes due; and it has looked at the control plane since. */
  async function anHourPasses(): Promise<void> {
    await stage.timePasses(HOUR_MS);
    await stage.touch("coder", "an hour later");
  }
});
