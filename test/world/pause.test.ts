import { Deployment, findCondition, type Kind } from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../src/api/v1alpha1/kinds.ts";
import { type Coderd, openProxyStage, type ProxyStage } from "../support/stages/workspace-proxy.ts";
import { MemoryWorld } from "../support/world/memory.ts";

type Subject = CoderControlPlane | CoderProvisioner | CoderWorkspaceProxy;

let stage: ProxyStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openProxyStage(new MemoryWorld(), "pause");
  coderd = await stage.controlPlane("coder");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const ANNOTATION = "coder.com/paused";
const toControlPlane = { controlPlaneRef: { name: "coder" } };

const kinds = [
  // Without its Deployment too, another image would be an upgrade in stages.
  {
    kind: CoderControlPlane as Kind<Subject>,
    spec: { upgrade: { strategy: "Rolling" } },
    deployment: (name: string) => name,
  },
  {
    kind: CoderProvisioner as Kind<Subject>,
    spec: toControlPlane,
    deployment: (name: string) => `provisioner-${name}`,
  },
  {
    kind: CoderWorkspaceProxy as Kind<Subject>,
    spec: toControlPlane,
    deployment: (name: string) => `wsproxy-${name}`,
  },
];

function create(kind: Kind<Subject>, name: string, spec: object, annotations = {}): Promise<unknown> {
  const metadata = { ...stage.ref(name), annotations };
  return stage.person.create(kind, {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata,
    spec,
  } as Subject);
}

const annotate = (kind: Kind<Subject>, name: string, value: string | null) =>
  stage.person.mergePatch(kind, stage.ref(name), { metadata: { annotations: { [ANNOTATION]: value } } });

const conditionOf = async (kind: Kind<Subject>, name: string, type: string) =>
  findCondition((await stage.get(kind, name)).status?.conditions, type);

const untilPaused = (kind: Kind<Subject>, name: string) =>
  stage.eventually(async () =>
    expect(await conditionOf(kind, name, "Paused")).toMatchObject({ status: "True" }),
  );

/** What the operator wrote since to an object and its children, but for events. */
function writesSince(length: number, name: string): string[] {
  return stage.operator.transport.requests
    .slice(length)
    .filter(({ method, path }) => method !== "GET" && path.includes(name) && !/\/events\b/.test(path))
    .map(({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`);
}

describe.each(kinds)("a paused $kind.kind", ({ kind, spec, deployment }) => {
  const name = `old-${kind.kind.toLowerCase()}`;
  const fresh = `new-${kind.kind.toLowerCase()}`;
  const status = (object: string) =>
    `PATCH /apis/coder.com/v1alpha1/namespaces/${stage.namespace}/${kind.plural}/${object}/status`;

  test("gets only the condition, regardless of changes of its spec and its children", async () => {
    await create(kind, name, spec);
    await stage.markReady(deployment(name));
    await stage.untilIdle();
    const { length } = stage.operator.transport.requests;
    await annotate(kind, name, "true");
    await untilPaused(kind, name);
    const paused = await conditionOf(kind, name, "Paused");
    expect(paused).toMatchObject({
      reason: "PausedByAnnotation",
      message: expect.stringContaining(`${ANNOTATION}-`),
    });

    await stage.person.mergePatch(kind, stage.ref(name), { spec: { replicas: 3, image: "coder:next" } });
    await stage.person.delete(Deployment, stage.ref(deployment(name)));
    await stage.eventually(async () =>
      expect((await conditionOf(kind, name, "Paused"))?.observedGeneration).toBe(2),
    );
    await stage.timePasses(3_600_000);
    const { runs } = stage.counters;
    await stage.person.mergePatch(kind, stage.ref(name), { metadata: { labels: { look: "again" } } });
    await stage.eventually(() => expect(stage.counters.runs).toBeGreaterThan(runs));
    await stage.untilIdle();
    expect(new Set(writesSince(length, name))).toEqual(new Set([status(name)]));
    expect(await stage.exists(Deployment, deployment(name))).toBe(false);
    const reasons = (await stage.events(name)).map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === "Paused")).toHaveLength(1);
  });

  test("is caught up with as soon as it is resumed, and the condition is gone", async () => {
    await annotate(kind, name, null);
    await stage.eventually(async () => {
      const { spec: made } = await stage.get(Deployment, deployment(name));
      expect(made).toMatchObject({
        replicas: 3,
        template: { spec: { containers: [{ image: "coder:next" }] } },
      });
    });
    await stage.eventually(async () => expect(await conditionOf(kind, name, "Paused")).toBeUndefined());
    expect((await stage.events(name)).map(({ reason }) => reason)).toContain("Resumed");
  });

  test("that is new gets no first status, no finalizer and no child", async () => {
    const { length } = stage.operator.transport.requests;
    await create(kind, fresh, spec, { [ANNOTATION]: " True " });
    await untilPaused(kind, fresh);
    await stage.untilIdle();
    expect(writesSince(length, fresh)).toEqual([status(fresh)]);
    const { metadata, status: said } = await stage.get(kind, fresh);
    expect(metadata.finalizers ?? []).toEqual([]);
    expect(Object.keys(said ?? {})).toEqual(["conditions"]);
  });

  test("can be deleted, with all that it left elsewhere", async () => {
    await annotate(kind, name, "true");
    await untilPaused(kind, name);
    for (const object of [name, fresh]) {
      await stage.delete(kind, object);
      await stage.untilGone(kind, object);
    }
    const resumed = (await stage.events(name)).filter(({ reason }) => reason === "Resumed");
    expect(resumed).toHaveLength(1);
    expect(coderd.deployment.proxies.map((proxy) => proxy.name)).not.toContain(name);
    const keys = coderd.deployment.keys.map((key) => key.name);
    expect(keys).not.toContain(name);
  });
});
