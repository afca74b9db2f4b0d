import { beforeEach, describe, expect, test } from "vitest";
import { type ManagerUnderTest, marks, Parent, runManager } from "../../test/support/manager-under-test.ts";
import { answers, offline, times, when } from "../../testing/faulty-transport.ts";
import { ConfigMap, Deployment, Secret, Service } from "../kinds.ts";
import { awaitChange } from "../queue/action.ts";
import type { Children } from "./children.ts";
import { controller } from "./controller.ts";
import { AlreadyOwnedError, type Owner } from "./ownership.ts";

const ref = { namespace: "n", name: "child" };
const labels = { app: "child", instance: "parent" };
const foreignOwner = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  name: "db",
  uid: "u-db",
  controller: true,
};

let world: ManagerUnderTest;
let children: Children;
let owner: Owner;
beforeEach(async () => {
  const parents = controller("parent")
    .for(Parent)
    .owns([ConfigMap, Deployment, Secret, Service])
    .reconcile(async (_key, context) => {
      ({ children } = context);
      return awaitChange;
    });
  world = await runManager([parents]);
  const object = await world.person.create(Parent, { metadata: { namespace: "n", name: "parent" } });
  owner = { kind: Parent, object, labels };
  await seen();
});

/** Waits for the watches to report the changes, and clears the recorded requests. */
async function seen(): Promise<void> {
  await world.clock.advance(0);
  world.requests();
}

function configMap(data: Record<string, string>, metadata = {}): ConfigMap {
  return { metadata: { ...ref, ...metadata }, data };
}

const apply = (data: Record<string, string>, metadata = {}) =>
  children.apply(ConfigMap, configMap(data, metadata), owner);
const stored = () => world.person.get(ConfigMap, ref);
const isApply = ({ method }: { method: string }) => method === "PATCH";

describe("a preview", () => {
  test("says what an apply would make of a child, and stores nothing", async () => {
    await apply({ a: "1", b: "2" });
    await seen();
    const preview = await children.preview(ConfigMap, configMap({ a: "3" }), owner);
    expect(preview?.data).toEqual({ a: "3" });
    expect((await stored()).data).toEqual({ a: "1", b: "2" });
  });

  test("of the last applied content, or of a missing child, is empty and makes no request", async () => {
    expect(await children.preview(ConfigMap, configMap({ a: "1" }), owner)).toBeUndefined();
    await apply({ a: "1" });
    await seen();
    expect(await children.preview(ConfigMap, configMap({ a: "1" }), owner)).toBeUndefined();
    expect(world.requests()).toEqual([]);
  });
});

describe("a child", () => {
  test("is applied with the owner as its controller", async () => {
    await apply({ a: "1" });
    expect(await stored()).toMatchObject({
      data: { a: "1" },
      metadata: { ownerReferences: [{ kind: "Parent", uid: owner.object.metadata.uid, controller: true }] },
    });
  });

  test("that is as it was applied last is not applied again", async () => {
    await apply({ a: "1" });
    expect(world.requests()).toEqual(["apply n/configmaps/child"]);
    await apply({ a: "1" });
    await seen();
    await apply({ a: "1" });
    expect(world.requests()).toEqual([]);
  });

  test("that was created is not applied again", async () => {
    await children.create(ConfigMap, configMap({ a: "1" }), owner);
    expect(await stored()).toMatchObject({
      data: { a: "1" },
      metadata: { ownerReferences: [{ kind: "Parent", uid: owner.object.metadata.uid, controller: true }] },
    });
    await seen();
    await apply({ a: "1" });
    expect(world.requests()).toEqual([]);
    await apply({ a: "2" });
    expect(await stored()).toMatchObject({ data: { a: "2" } });
  });

  test("that outlives its owner has no reference to it, and is known by its labels", async () => {
    const child = configMap({ a: "1" }, { labels });
    await children.create(ConfigMap, child, { ...owner, outlives: true });
    const made = await stored();
    expect(made.metadata.ownerReferences).toBeUndefined();
    expect(children.owns(made, owner)).toBe(true);
  });

  test("is applied again when something else is desired", async () => {
    await apply({ a: "1", b: "1" });
    await apply({ a: "2" });
    expect((await stored()).data).toEqual({ a: "2" });
  });

  test("that another client changed or deleted is restored", async () => {
    await apply({ a: "1" });
    await world.person.mergePatch(ConfigMap, ref, { data: { a: "drifted" } });
    await seen();
    await apply({ a: "1" });
    expect((await stored()).data).toEqual({ a: "1" });
    await world.person.delete(ConfigMap, ref);
    await seen();
    await apply({ a: "1" });
    expect((await stored()).data).toEqual({ a: "1" });
  });

  test("is restored if its labels or annotations were changed", async () => {
    const metadata = { labels: { ours: "1" }, annotations: { ours: "1" } };
    await apply({}, metadata);
    for (const patch of [{ labels: { ours: "2" } }, { annotations: { ours: null } }]) {
      await world.person.mergePatch(ConfigMap, ref, { metadata: patch });
      await seen();
      await apply({}, metadata);
      expect((await stored()).metadata).toMatchObject(metadata);
    }
  });

  test("with labels, annotations or a status of other clients is left unchanged", async () => {
    const deployment = { metadata: ref, spec: { selector: {}, template: {} } };
    await children.apply(Deployment, deployment, owner);
    await world.person.mergePatch(Deployment, ref, { metadata: { labels: { theirs: "1" } } });
    await world.person.mergePatch(Deployment, ref, { metadata: { annotations: { theirs: "1" } } });
    await world.person.patchStatus(Deployment, ref, { status: { readyReplicas: 1 } });
    await seen();
    await children.apply(Deployment, deployment, owner);
    expect(world.requests()).toEqual([]);
  });

  test("that a list reported, without its type, is not applied again for that", async () => {
    await apply({ a: "1" });
    await seen();
    world.api.streamsLists = false;
    world.transport.fault = offline;
    world.transport.cutWatches();
    await world.person.mergePatch(ConfigMap, ref, { metadata: { labels: { theirs: "1" } } });
    world.api.compact();
    world.transport.fault = undefined;
    await world.clock.advance(30_000);
    expect(world.requests().join()).toContain("get ");
    await apply({ a: "1" });
    expect(world.requests()).toEqual([]);
  });

  test("whose apply got no answer is applied again", async () => {
    world.transport.fault = times(2, offline);
    await expect(apply({ a: "1" })).rejects.toMatchObject({ reason: "Unreachable" });
    await apply({ a: "1" });
    expect((await stored()).data).toEqual({ a: "1" });
  });
});

const former = () => ({
  apiVersion: Parent.apiVersion,
  kind: Parent.kind,
  name: "parent",
  uid: "u-before",
  controller: true,
});

describe("an object of another owner", () => {
  test.each([
    ["another controller owns", { ownerReferences: [foreignOwner], labels }, 'StatefulSet "db"'],
    ["has no owner", {}, "another client"],
    ["has no owner and lacks one of our labels", { labels: { app: "child" } }, "another client"],
    ["Helm installed", { annotations: { "meta.helm.sh/release-name": "shop" } }, 'Helm release "shop"'],
    [
      "another tool manages",
      { labels: { "app.kubernetes.io/managed-by": "kustomize" } },
      'another client (managed by "kustomize")',
    ],
    [
      "is handed over to another object",
      { annotations: { [marks.handOver]: "Parent/other" } },
      "another client",
    ],
    [
      "is handed over although it has a controller",
      { ownerReferences: [foreignOwner], annotations: { [marks.handOver]: "Parent/parent" } },
      'StatefulSet "db"',
    ],
  ])("because %s is never changed, whether the cache shows it or not", async (_case, metadata, holder) => {
    const before = await world.person.create(ConfigMap, configMap({ a: "theirs" }, metadata));
    for (const isSeen of [false, true]) {
      if (isSeen) await seen();
      const failure = await apply({ a: "1" }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(AlreadyOwnedError);
      expect(failure).toMatchObject({ objects: [{ kind: ConfigMap, ref, holder }] });
      expect(String(failure)).toContain(`ConfigMap "n/child" belongs to ${holder}`);
      await expect(children.create(ConfigMap, configMap({ a: "1" }), owner)).rejects.toEqual(failure);
      await children.remove(ConfigMap, before, owner);
      expect(await stored()).toEqual(before);
    }
  });

  test("is not touched when it takes the place of a child that the cache still shows", async () => {
    await apply({ a: "1" });
    world.transport.fault = when(isApply, async (_request, pass) => {
      await world.person.delete(ConfigMap, ref);
      await world.person.create(ConfigMap, configMap({ a: "theirs" }));
      world.transport.fault = undefined;
      return pass();
    });
    await expect(apply({ a: "2" })).rejects.toBeInstanceOf(AlreadyOwnedError);
    expect((await stored()).data).toEqual({ a: "theirs" });
  });

  test("is not changed if it is created between the read and the first apply", async () => {
    world.transport.fault = when(isApply, async (_request, pass) => {
      await world.person.create(ConfigMap, configMap({ a: "theirs" }));
      world.transport.fault = undefined;
      return pass();
    });
    await expect(apply({ a: "1" })).rejects.toBeInstanceOf(AlreadyOwnedError);
    expect((await stored()).data).toEqual({ a: "theirs" });
  });

  test("is not blamed for what the API server finds wrong with the child itself", async () => {
    const refuses = answers(422, {}, JSON.stringify({ kind: "Status", reason: "Invalid" }));
    await apply({ a: "1" });
    world.transport.fault = when(isApply, refuses);
    await expect(apply({ a: "2" })).rejects.toMatchObject({ reason: "Invalid" });
    await world.person.delete(ConfigMap, ref);
    await seen();
    await expect(apply({ a: "2" })).rejects.toMatchObject({ reason: "Invalid" });
  });
});

describe("an owned object without a reference to the owner", () => {
  const cases = [
    ["has a reference to an earlier object of the owner's name", () => ({ ownerReferences: [former()] })],
    ["has the labels of our children and no controller", () => ({ labels })],
    ["is handed over", () => ({ annotations: { [marks.handOver]: "parent/parent" } })],
  ] as const;

  test.each(cases)("because it %s keeps its identity and gets our reference", async (_case, metadata) => {
    const before = await world.person.create(ConfigMap, configMap({ a: "0", b: "old" }, metadata()));
    for (const isSeen of [false, true]) {
      if (isSeen) await seen();
      await apply({ a: "1" }, { labels });
      const { data, metadata: after } = await stored();
      expect(data).toEqual({ a: "1", b: "old" });
      expect(after.uid).toBe(before.metadata.uid);
      expect(after.ownerReferences).toMatchObject([{ uid: owner.object.metadata.uid }]);
    }
    await seen();
    await apply({ a: "1" }, { labels });
    expect(world.requests()).toEqual([]);
  });

  test.each(cases)(
    "because it %s blocks the creation of a child that must not exist yet",
    async (_case, metadata) => {
      await world.person.create(ConfigMap, configMap({ b: "old" }, metadata()));
      const creation = children.create(ConfigMap, configMap({ a: "1" }), owner);
      await expect(creation).rejects.toMatchObject({ reason: "AlreadyExists" });
      expect((await stored()).data).toEqual({ b: "old" });
    },
  );

  test("remains with a later owner if the run is outdated", async () => {
    const later = { ...former(), uid: "u-later" };
    await world.person.create(ConfigMap, configMap({ b: "new" }, { ownerReferences: [later] }));
    await seen();
    const earlier = { ...owner.object, metadata: { ...owner.object.metadata, uid: "u-earlier" } };
    const lagging = { kind: Parent, object: earlier, labels };
    await expect(children.apply(ConfigMap, configMap({ a: "1" }), lagging)).rejects.toBeInstanceOf(
      AlreadyOwnedError,
    );
    expect((await stored()).data).toEqual({ b: "new" });
  });

  test("and handed over is left until its time has come", async () => {
    const metadata = { annotations: { [marks.handOver]: "Parent/parent" } };
    const before = await world.person.create(ConfigMap, configMap({ a: "theirs" }, metadata));
    const left = await children.apply(ConfigMap, configMap({ a: "1" }), owner, { deferAdoption: true });
    expect(left).toEqual(before);
    expect(children.owns(left, owner)).toBe(false);
    expect(await stored()).toEqual(before);
  });
});

describe("a handed-over Secret", () => {
  const handedOver = { ...ref, annotations: { [marks.handOver]: "Parent/parent" } };

  test("with other data is refused too", async () => {
    const before = await world.person.create(Secret, { metadata: handedOver, data: { password: "eA==" } });
    const desired = { metadata: ref, data: { token: "eA==" } };
    const failure = await children.apply(Secret, desired, owner).catch((error: unknown) => error);
    expect(String(failure)).toContain("can't be handed over because its data is different");
    expect(await world.person.get(Secret, ref)).toEqual(before);
  });

  test("that is empty is taken", async () => {
    await world.person.create(Secret, { metadata: handedOver });
    await children.apply(Secret, { metadata: ref, data: { token: "eA==" } }, owner);
    expect((await world.person.get(Secret, ref)).data).toEqual({ token: "eA==" });
  });
});

describe("a child in another namespace", () => {
  const childRef = { namespace: "m", name: "child" };
  const desired = { metadata: { ...childRef, labels }, data: { a: "1" } };
  const applyChild = () => children.apply(ConfigMap, desired, owner);
  const storedChild = () => world.person.get(ConfigMap, childRef);
  const person = (metadata: object) =>
    world.person.create(ConfigMap, { metadata: { ...childRef, ...metadata }, data: { a: "0" } });

  test("carries the owner's uid instead of a reference", async () => {
    await applyChild();
    const { metadata } = await storedChild();
    expect(metadata.ownerReferences).toBeUndefined();
    expect(metadata.annotations?.[marks.ownerUid]).toBe(owner.object.metadata.uid);
    await seen();
    await applyChild();
    expect(world.requests()).toEqual([]);
  });

  test("is owned by its UID, or by its labels and an earlier UID, but not by labels alone", async () => {
    await person({ labels, annotations: { [marks.ownerUid]: "u-before" } });
    await applyChild();
    expect((await storedChild()).metadata.annotations?.[marks.ownerUid]).toBe(owner.object.metadata.uid);
    await world.person.mergePatch(ConfigMap, childRef, { metadata: { labels: null } });
    await seen();
    await applyChild();
    expect((await storedChild()).metadata.labels).toEqual(labels);
    await world.person.mergePatch(ConfigMap, childRef, { metadata: { annotations: null } });
    await seen();
    await expect(applyChild()).rejects.toBeInstanceOf(AlreadyOwnedError);
  });
});

describe("fields that an earlier release set by Update", () => {
  const earlier = () => world.api.client("operator");

  test("are adopted before the first apply: undesired fields are removed, those of other clients are kept", async () => {
    await earlier().create(ConfigMap, configMap({ kept: "1", dropped: "1" }, { labels }));
    await world.person.mergePatch(ConfigMap, ref, { data: { theirs: "1" } });
    await seen();
    await apply({ kept: "1" }, { labels });
    expect(world.requests()).toEqual([
      "get n/configmaps/child",
      "json patch n/configmaps/child",
      "apply n/configmaps/child",
    ]);
    expect((await stored()).data).toEqual({ kept: "1", theirs: "1" });
    await seen();
    await apply({ kept: "1" }, { labels });
    expect(world.requests()).toEqual([]);
  });

  test("are adopted even if another client writes at the same time", async () => {
    await earlier().create(ConfigMap, configMap({ kept: "1", dropped: "1" }, { labels }));
    await seen();
    let disturbed = 0;
    world.transport.fault = when(
      ({ headers }) => headers["content-type"] === "application/json-patch+json",
      async (_request, pass) => {
        if (disturbed++ < 2)
          await world.person.mergePatch(ConfigMap, ref, { data: { theirs: `${disturbed}` } });
        return pass();
      },
    );
    await apply({ kept: "1" }, { labels });
    expect((await stored()).data).toEqual({ kept: "1", theirs: "2" });
  });
});

describe("a version that a child must have", () => {
  test("is a condition of the write: an older one is a conflict and changes nothing", async () => {
    const { metadata } = await apply({ a: "1" });
    const { resourceVersion } = metadata;
    await children.apply(ConfigMap, configMap({ a: "2" }), owner, { resourceVersion });
    for (const isSeen of [false, true]) {
      if (isSeen) await seen();
      const late = children.apply(ConfigMap, configMap({ a: "3" }), owner, { resourceVersion });
      await expect(late).rejects.toMatchObject({ reason: "Conflict" });
    }
    expect((await stored()).data).toEqual({ a: "2" });
  });
});

describe("an API server that makes no object with a version", () => {
  test("gets it by POST", async () => {
    const refuses = answers(409, {}, JSON.stringify({ kind: "Status", reason: "Conflict" }));
    world.transport.fault = when(isApply, refuses);
    await apply({ a: "1" });
    world.transport.fault = undefined;
    expect((await stored()).data).toEqual({ a: "1" });
    await seen();
    await apply({ a: "1" });
    await seen();
    await apply({ a: "1" });
    expect(world.requests()).toEqual([]);
  });
});

describe("converge", () => {
  const child = (name: string) => ({ metadata: { namespace: "n", name }, data: {} });
  const names = async () => (await world.person.list(ConfigMap)).items.map(({ metadata }) => metadata.name);

  test("makes the desired children the only ones, and leaves those of others alone", async () => {
    await world.person.create(ConfigMap, configMap({}, { name: "foreign", ownerReferences: [foreignOwner] }));
    await world.person.create(ConfigMap, configMap({}, { name: "ownerless" }));
    await children.converge(ConfigMap, [child("one"), child("two")], owner);
    expect(await names()).toEqual(["foreign", "one", "ownerless", "two"]);
    await children.converge(ConfigMap, [child("two"), child("three")], owner);
    expect(await names()).toEqual(["foreign", "ownerless", "three", "two"]);
    await seen();
    await children.converge(ConfigMap, [child("two"), child("three")], owner);
    expect(world.requests()).toEqual([]);
  });

  test("deletes nothing when a desired child can't be applied", async () => {
    await children.converge(ConfigMap, [child("one")], owner);
    world.transport.fault = when(isApply, answers(500));
    await expect(children.converge(ConfigMap, [child("two")], owner)).rejects.toMatchObject({ code: 500 });
    expect(await names()).toEqual(["one"]);
  });
});

describe("remove", () => {
  test("deletes the object once, and no other of the same name", async () => {
    const present = await apply({});
    await world.person.delete(ConfigMap, ref);
    await world.person.create(ConfigMap, configMap({ a: "another" }, { labels }));
    await expect(children.remove(ConfigMap, present, owner)).rejects.toMatchObject({ reason: "Conflict" });
    await seen();
    await children.remove(ConfigMap, await stored(), owner);
    await expect(stored()).rejects.toMatchObject({ reason: "NotFound" });
    expect(world.requests()).toEqual(["delete n/configmaps/child"]);
  });

  test("does not delete again an object that its finalizers keep", async () => {
    await world.person.create(ConfigMap, configMap({}, { labels, finalizers: ["example.com/wait"] }));
    await world.person.delete(ConfigMap, ref);
    await seen();
    await children.remove(ConfigMap, await stored(), owner);
    expect(world.requests()).toEqual([]);
  });
});
