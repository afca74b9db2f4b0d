import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { fnv1a32 } from "../../../src/runtime/hash.ts";
import {
  CoreEvent,
  Deployment,
  Ingress,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
} from "../../../src/runtime/kinds.ts";
import type { Kind, KubeObject, Stored } from "../../../src/runtime/object.ts";
import { controllerOf } from "../../../src/runtime/owner.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { eventually } from "../../support/eventually.ts";
import { openStage, type Stage } from "./stage.ts";

interface Clash {
  readonly kind: Kind;
  readonly condition: string;
  /** What the object of somebody else has beside its metadata. */
  readonly content: object;
  readonly nameSuffix?: (namespace: string, controlPlane: string) => string;
}

const selector = { app: "rival" };
const pod = { containers: [{ name: "rival", image: "example.invalid/rival:1" }] };
const template = { metadata: { labels: selector }, spec: pod };
const spec: ControlPlaneSpec = { expose: { ingress: { host: "coder.example.com" } } };
const hash = (namespace: string, name: string) => `-${fnv1a32(`${namespace}\0${name}`)}`;

const clashes: readonly Clash[] = [
  { kind: ServiceAccount, condition: "ServiceAccountReady", content: {} },
  {
    kind: Role,
    condition: "WorkspaceRBACReady",
    content: { rules: [] },
    nameSuffix: (namespace, name) => `${hash(namespace, name)}-workspace-perms`,
  },
  {
    kind: RoleBinding,
    condition: "WorkspaceRBACReady",
    content: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "rival" },
      subjects: [],
    },
    nameSuffix: hash,
  },
  {
    kind: Deployment,
    condition: "DeploymentReady",
    content: { spec: { selector: { matchLabels: selector }, template } },
  },
  { kind: Service, condition: "ServiceReady", content: { spec: { ports: [{ port: 1234 }] } } },
  {
    kind: Ingress,
    condition: "ExposureReady",
    content: { spec: { defaultBackend: { service: { name: "rival", port: { number: 80 } } } } },
  },
];

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(sharedCluster(), "conflict");
});
afterAll(() => stage[Symbol.asyncDispose]());

/** An object that belongs to the StatefulSet "rival", as far as its owner references go. */
function create(kind: Kind, name: string, content: object): Promise<Stored<KubeObject>> {
  const owner = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    name: "rival",
    uid: "0-1-2-3",
    controller: true,
  };
  return stage.person.create(kind, {
    ...content,
    metadata: { ...stage.ref(name), ownerReferences: [owner] },
  } as KubeObject);
}

async function eventsAbout(name: string): Promise<Stored<CoreEvent>[]> {
  const fieldSelector = `involvedObject.kind=CoderControlPlane,involvedObject.name=${name}`;
  return [...(await stage.person.list(CoreEvent, { namespace: stage.namespace, fieldSelector })).items];
}

describe.each(clashes)("a $kind.kind of the same name that another controller owns", (clash) => {
  const { kind, condition, content, nameSuffix } = clash;
  const controlPlane = `clash-${kind.plural}`;
  let rival: Stored<KubeObject>;

  beforeAll(async () => {
    rival = await create(kind, controlPlane + (nameSuffix?.(stage.namespace, controlPlane) ?? ""), content);
    await stage.create(controlPlane, spec);
  });

  test("is named in the condition with its owner, and makes the control plane not ready", async () => {
    const { message } = await stage.untilCondition(controlPlane, condition, {
      status: "False",
      reason: "Conflict",
    });
    expect(message).toContain(`${kind.kind} "${stage.namespace}/${rival.metadata.name}"`);
    expect(message).toContain('StatefulSet "rival"');
    await stage.untilCondition(controlPlane, "Ready", { status: "False" });
  });

  test("is told of in one event, however often the run is repeated", async () => {
    const repeated = () =>
      stage.operator.log.filter(
        ({ msg, object }) => msg.startsWith("run failed") && object === `${stage.namespace}/${controlPlane}`,
      );
    await eventually(() => expect(repeated().length).toBeGreaterThan(3), { withinMs: 20_000 });
    const events = (await eventsAbout(controlPlane)).filter(({ reason }) => reason === "Conflict");
    expect(events).toEqual([expect.objectContaining({ type: "Warning", count: 1 })]);
  });

  test("is never touched, and the other children are made all the same", async () => {
    const { metadata } = await stage.get(kind, rival.metadata.name);
    expect(metadata.resourceVersion).toBe(rival.metadata.resourceVersion);
    for (const other of [ServiceAccount, Deployment, Service, Ingress] as Kind[]) {
      if (other !== kind) expect(await stage.exists(other, controlPlane), other.kind).toBe(true);
    }
  });

  test("is replaced by ours once it is gone", async () => {
    await stage.person.delete(kind, stage.ref(rival.metadata.name));
    await eventually(
      async () => {
        const child = await stage.get(kind, rival.metadata.name);
        expect(controllerOf(child)?.name).toBe(controlPlane);
      },
      { withinMs: 30_000 },
    );
    if (kind !== (Deployment as Kind))
      await stage.untilCondition(controlPlane, condition, { status: "True" });
  });
});

test("of two control planes that name the same ServiceAccount the second is told whose it is", async () => {
  await stage.create("first", { serviceAccount: { name: "contested" } });
  await stage.settled("first");
  await stage.create("second", { serviceAccount: { name: "contested" } });
  const { message } = await stage.untilCondition("second", "ServiceAccountReady", { reason: "Conflict" });
  expect(message).toContain('CoderControlPlane "first"');
  expect(controllerOf(await stage.get(ServiceAccount, "contested"))?.name).toBe("first");
});

test("a Deployment that nobody owns but whose selector is not ours is left alone and named", async () => {
  const content = clashes.find(({ kind }) => kind === (Deployment as Kind))?.content;
  const metadata = stage.ref("stray");
  const stray = await stage.person.create(Deployment, { ...content, metadata } as Deployment);
  await stage.create("stray");
  const { message } = await stage.untilCondition("stray", "DeploymentReady", {
    status: "False",
    reason: "Invalid",
  });
  expect(message).toContain(`Deployment "${stage.namespace}/stray"`);
  expect(message).toContain("field is immutable");
  expect((await stage.get(Deployment, "stray")).metadata.resourceVersion).toBe(
    stray.metadata.resourceVersion,
  );
});
