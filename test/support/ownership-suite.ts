import {
  type Condition,
  CoreEvent,
  controllerOf,
  Deployment,
  findCondition,
  type Kind,
  type KubeObject,
  Role,
  resourceName,
  Secret,
  Service,
  ServiceAccount,
  type Stored,
} from "kube-controller-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import {
  type Case,
  casesIn,
  contentOf,
  families,
  labelsOf,
  type Origin,
  origins,
  originsFor,
  type Parent,
  pool,
  type Width,
} from "./ownership-cases.ts";
import { openProxyStage, type ProxyStage } from "./stages/workspace-proxy.ts";
import type { World } from "./world/world.ts";

const TIME_LIMIT = { withinMs: 40_000 };

/** The handling of objects with the names of children and different owners, in a world with HTTPRoutes. */
export function ownershipSuite(openWorld: () => Promise<World>, width: Width): void {
  let stage: ProxyStage;
  beforeAll(async () => {
    stage = await openProxyStage(await openWorld(), "whose");
    await stage.controlPlane("coder");
    await Promise.all(cases().map((each) => prepare(each)));
  }, 120_000);
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const cases = () => casesIn(stage?.namespace ?? "", width);

  const before = new Map<string, Stored<KubeObject>>();
  const parents = new Map<string, Stored<Parent>>();

  async function prepare({ family, child, origin, name, childName }: Case): Promise<void> {
    const labels = labelsOf(family.app, name);
    const metadata = { ...stage.ref(childName), ...origins[origin].metadata(family, name) };
    const object = { ...contentOf(child, childName, labels), metadata } as KubeObject;
    before.set(name, await stage.person.create(child, object));
    const parent = { apiVersion: family.kind.apiVersion, kind: family.kind.kind, metadata: stage.ref(name) };
    parents.set(
      name,
      await stage.person.create(family.kind, { ...parent, spec: family.spec(child) } as Parent),
    );
  }

  const conflictOf = async (kind: Kind<Parent>, name: string) =>
    findCondition((await stage.get(kind, name)).status?.conditions, "Conflict");

  function untilTaken({ family, child, name, childName }: Case): Promise<void> {
    return stage.eventually(async () => {
      const { metadata } = await stage.get(child, childName);
      expect(metadata.uid).toBe(before.get(name)?.metadata.uid);
      expect(controllerOf({ metadata })?.uid).toBe(parents.get(name)?.metadata.uid);
      expect(metadata.labels).toMatchObject(labelsOf(family.app, name));
      expect(await conflictOf(family.kind, name)).toBeUndefined();
    }, TIME_LIMIT);
  }

  async function untilRefused({ family, child, name, childName }: Case): Promise<Condition> {
    const conflict = await stage.eventually(async () => {
      const found = await conflictOf(family.kind, name);
      expect(found).toMatchObject({ status: "True", reason: `${child.kind}NotOurs` });
      return found as Condition;
    }, TIME_LIMIT);
    expect(conflict.message).toContain(`${child.kind} "${stage.namespace}/${childName}"`);
    expect(await stage.get(child, childName)).toEqual(before.get(name));
    return conflict;
  }

  /** Only the Service that is handed over waits, for pods that do not run here; see the test of the move from Helm. */
  const waits = ({ child, origin }: Pick<Case, "child" | "origin">) =>
    child === (Service as Kind) && origin === "that is handed over";
  /** Without a database the operator has no token to store, so nothing takes the Secret that is free to take. */
  const isUnused = ({ child, family }: Pick<Case, "child" | "family">) =>
    child === (Secret as Kind) && family.app === "coder-control-plane";

  const caseOf = (app: string, kind: Kind, origin: Origin): Case => {
    const found = cases().find(
      ({ family, child, origin: from }) => family.app === app && child === kind && from === origin,
    );
    if (!found) throw new Error("no such case");
    return found;
  };

  describe.each(families)("a child of a $kind.kind", (family) => {
    const rows = family.children.flatMap(([child]) =>
      originsFor(family, child, width).map((origin) => [child.kind, origin, child] as const),
    );

    test.each(rows)("%s %s is taken or left as ownership says", async (_kind, origin, child) => {
      const found = caseOf(family.app, child, origin);
      if (!origins[origin].isOurs) {
        await untilRefused(found);
        const [, deploymentName] = family.children.find(([child]) => child === (Deployment as Kind)) ?? [];
        const pods = deploymentName?.(found.name, stage.namespace) ?? "";
        const others = (await stage.person.list(Deployment, { namespace: stage.namespace })).items;
        if (found.child !== (Deployment as Kind))
          expect(others.map(({ metadata }) => metadata.name)).not.toContain(pods);
      } else if (waits(found) || isUnused(found)) {
        await stage.eventually(async () => {
          expect((await stage.get(family.kind, found.name)).status?.conditions).toBeDefined();
        }, TIME_LIMIT);
        expect(await conflictOf(family.kind, found.name)).toBeUndefined();
        expect(await stage.get(found.child, found.childName)).toEqual(before.get(found.name));
      } else await untilTaken(found);
    });
  });

  describe("a foreign object that has a child's name", () => {
    test("is named with its holder and the solutions, including a command to hand it over", async () => {
      const service = caseOf("coder-control-plane", Service, "of a Helm release");
      const { message } = await untilRefused(service);
      expect(message).toContain('Helm release "shop"');
      expect(message).toContain(
        `kubectl -n ${stage.namespace} annotate services ${service.childName} coder.com/adopt-by=CoderControlPlane/${service.name}`,
      );
      const account = caseOf("coder-control-plane", ServiceAccount, "of another controller");
      const { message: other } = await untilRefused(account);
      expect(other).toContain('StatefulSet "rival"');
      expect(other).toContain("spec.serviceAccount.disableCreate");
      const deployment = caseOf("coder-provisioner", Deployment, "without a controller");
      expect((await untilRefused(deployment)).message).toContain(
        `delete ${resourceName(Deployment)} ${deployment.childName} --cascade=orphan`,
      );
    });

    test("is reported in one event, and the run is repeated calmly", async () => {
      const { name } = caseOf("coder-control-plane", Role, "without a controller");
      const fieldSelector = `involvedObject.kind=CoderControlPlane,involvedObject.name=${name}`;
      await stage.eventually(async () => {
        const { items } = await stage.person.list(CoreEvent, { namespace: stage.namespace, fieldSelector });
        const warnings = items.filter(({ reason }) => reason?.endsWith("NotOurs"));
        expect(warnings).toEqual([expect.objectContaining({ reason: "RoleNotOurs", count: 1 })]);
      }, TIME_LIMIT);
      const failed = stage.operator.log.filter(
        ({ msg, object }) => msg.startsWith("run failed") && object === `${stage.namespace}/${name}`,
      );
      expect(failed).toEqual([]);
    });

    test("survives the object that wants its name", async () => {
      const left = cases().filter(
        ({ origin, family }) => !origins[origin].isOurs && family.app !== "coder-provisioner",
      );
      await Promise.all(left.map(({ family, name }) => stage.delete(family.kind, name)));
      await Promise.all(left.map(({ family, name }) => stage.untilGone(family.kind, name)));
      for (const { child, childName, name } of left)
        expect(await stage.get(child, childName)).toEqual(before.get(name));
    });

    test("that is deleted or handed over is replaced within half a minute", async () => {
      const gone = caseOf("coder-provisioner", Role, "without a controller");
      const handed = caseOf("coder-provisioner", ServiceAccount, "of a Helm release");
      await stage.person.delete(gone.child, stage.ref(gone.childName));
      await stage.person.mergePatch(handed.child, stage.ref(handed.childName), {
        metadata: { annotations: { "coder.com/adopt-by": `CoderProvisioner/${handed.name}` } },
      });
      await stage.timePasses(30_000);
      for (const { family, name } of [gone, handed]) {
        await stage.eventually(async () => {
          expect(await conflictOf(family.kind, name)).toBeUndefined();
          expect(controllerOf(await stage.get(Deployment, pool(name)))?.name).toBe(name);
        }, TIME_LIMIT);
      }
    });
  });

  describe("of two objects that name the same child", () => {
    test("the second learns whose it is", async () => {
      const create = (name: string) =>
        stage.person.create(CoderControlPlane, {
          apiVersion: CoderControlPlane.apiVersion,
          kind: CoderControlPlane.kind,
          metadata: stage.ref(name),
          spec: { serviceAccount: { name: "contested" } },
        });
      await create("first");
      await stage.eventually(() => stage.get(ServiceAccount, "contested"), TIME_LIMIT);
      await create("second");
      await stage.eventually(async () => {
        const conflict = await conflictOf(CoderControlPlane as Kind<Parent>, "second");
        expect(conflict?.message).toContain('CoderControlPlane "first"');
      }, TIME_LIMIT);
      expect(controllerOf(await stage.get(ServiceAccount, "contested"))?.name).toBe("first");
    });
  });
}
