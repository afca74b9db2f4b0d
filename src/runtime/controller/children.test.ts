import { beforeEach, describe, expect, test } from "vitest";
import { answers, offline, times, when } from "../../../test/support/faulty-transport.ts";
import { type ManagerUnderTest, Parent, runManager } from "../../../test/support/manager-under-test.ts";
import { ConfigMap, Deployment, Service } from "../kinds.ts";
import type { Stored } from "../object.ts";
import { awaitChange } from "./action.ts";
import { type Children, OwnedByAnotherError, type Owner } from "./children.ts";
import { controller } from "./controller.ts";

const ref = { namespace: "n", name: "child" };
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
    .owns([ConfigMap, Deployment, Service])
    .reconcile(async (_key, context) => {
      ({ children } = context);
      return awaitChange;
    });
  world = await runManager([parents]);
  const object = await world.person.create(Parent, { metadata: { namespace: "n", name: "parent" } });
  owner = { kind: Parent, object };
  await seen();
});

/** Lets the watches tell what happened, and forgets the requests so far. */
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

  test("that exists is not created: whoever has the name keeps it", async () => {
    await world.person.create(ConfigMap, configMap({ theirs: "1" }));
    const creation = children.create(ConfigMap, configMap({ a: "1" }), owner);
    await expect(creation).rejects.toMatchObject({ reason: "AlreadyExists" });
    expect(await stored()).toMatchObject({ data: { theirs: "1" } });
  });

  test("is applied again when something else is desired", async () => {
    await apply({ a: "1", b: "1" });
    await apply({ a: "2" });
    expect((await stored()).data).toEqual({ a: "2" });
  });

  test("that somebody changed is put right, and so is one that somebody deleted", async () => {
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

  test("whose label or annotation of ours was changed is put right", async () => {
    const metadata = { labels: { ours: "1" }, annotations: { ours: "1" } };
    await apply({}, metadata);
    for (const patch of [{ labels: { ours: "2" } }, { annotations: { ours: null } }]) {
      await world.person.mergePatch(ConfigMap, ref, { metadata: patch });
      await seen();
      await apply({}, metadata);
      expect((await stored()).metadata).toMatchObject(metadata);
    }
  });

  test("to which others add labels, annotations or a status is left alone", async () => {
    const deployment = { metadata: ref, spec: { selector: {}, template: {} } };
    await children.apply(Deployment, deployment, owner);
    await world.person.mergePatch(Deployment, ref, { metadata: { labels: { theirs: "1" } } });
    await world.person.mergePatch(Deployment, ref, { metadata: { annotations: { theirs: "1" } } });
    await world.person.patchStatus(Deployment, ref, { status: { readyReplicas: 1 } });
    await seen();
    await children.apply(Deployment, deployment, owner);
    expect(world.requests()).toEqual([]);
  });

  test("that a list told of, without its type, is not applied again for that", async () => {
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

describe("an object that another controller owns", () => {
  test("is never touched: the error names it and its owner", async () => {
    await world.person.create(ConfigMap, configMap({ a: "theirs" }, { ownerReferences: [foreignOwner] }));
    await seen();
    const failure = await apply({ a: "1" }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OwnedByAnotherError);
    expect(failure).toMatchObject({ owner: 'StatefulSet "db"' });
    expect(String(failure)).toContain('ConfigMap "n/child" belongs to StatefulSet "db"');
    expect(world.requests()).toEqual([]);
  });

  test("is told by the same error when only the API server knows of it", async () => {
    const refusal = {
      kind: "Status",
      reason: "Invalid",
      message: "Only one reference can have Controller set",
    };
    world.transport.fault = when(isApply, async (...call) => {
      await world.person.create(ConfigMap, configMap({ a: "theirs" }, { ownerReferences: [foreignOwner] }));
      return answers(422, {}, JSON.stringify(refusal))(...call);
    });
    await expect(apply({ a: "1" })).rejects.toMatchObject({ owner: 'StatefulSet "db"' });
    expect((await stored()).data).toEqual({ a: "theirs" });
  });

  test("is not blamed for what the API server finds wrong with the child itself", async () => {
    await apply({ a: "1" });
    world.transport.fault = when(
      isApply,
      answers(422, {}, JSON.stringify({ kind: "Status", reason: "Invalid" })),
    );
    await expect(apply({ a: "2" })).rejects.toMatchObject({ reason: "Invalid" });
    world.transport.fault = undefined;
    await world.person.delete(ConfigMap, ref);
    world.transport.fault = when(
      isApply,
      answers(422, {}, JSON.stringify({ kind: "Status", reason: "Invalid" })),
    );
    await expect(apply({ a: "2" })).rejects.toMatchObject({ reason: "Invalid" });
  });
});

describe("a child of an earlier object of the owner's name", () => {
  const former = () => ({
    apiVersion: Parent.apiVersion,
    kind: Parent.kind,
    name: "parent",
    uid: "u-before",
    controller: true,
  });
  const leftOver = () => configMap({ b: "old" }, { ownerReferences: [former()] });

  test("is replaced, as its own owner is gone", async () => {
    const before = await world.person.create(ConfigMap, leftOver());
    await seen();
    await apply({ a: "1" });
    const { data, metadata } = await stored();
    expect(data).toEqual({ a: "1" });
    expect(metadata.uid).not.toBe(before.metadata.uid);
    expect(metadata.ownerReferences).toMatchObject([{ uid: owner.object.metadata.uid }]);
  });

  test("makes room for one that must not exist yet", async () => {
    await world.person.create(ConfigMap, leftOver());
    await children.create(ConfigMap, configMap({ a: "1" }), owner);
    expect((await stored()).data).toEqual({ a: "1" });
  });

  test("stays when it is the owner that is the earlier of the two", async () => {
    const later = { ...former(), uid: "u-later" };
    await world.person.create(ConfigMap, configMap({ b: "new" }, { ownerReferences: [later] }));
    await seen();
    const earlier = { ...owner.object, metadata: { ...owner.object.metadata, uid: "u-earlier" } };
    const lagging = { kind: Parent, object: earlier };
    await expect(children.apply(ConfigMap, configMap({ a: "1" }), lagging)).rejects.toBeInstanceOf(
      OwnedByAnotherError,
    );
    await expect(children.create(ConfigMap, configMap({ a: "1" }), lagging)).rejects.toMatchObject({
      reason: "AlreadyExists",
    });
    expect((await stored()).data).toEqual({ b: "new" });
  });
});

describe("an object without a controller", () => {
  test("is taken over", async () => {
    await world.person.create(ConfigMap, configMap({ a: "theirs", b: "theirs" }));
    await seen();
    await apply({ a: "1" });
    expect((await stored()).data).toEqual({ a: "1", b: "theirs" });
    expect((await stored()).metadata.ownerReferences).toHaveLength(1);
  });
});

describe("fields that an earlier release set by Update", () => {
  const earlier = () => world.api.client("operator");

  test("are adopted: what is no longer desired disappears, what others set stays", async () => {
    await earlier().create(ConfigMap, configMap({ kept: "1", dropped: "1" }));
    await world.person.mergePatch(ConfigMap, ref, { data: { theirs: "1" } });
    await seen();
    await apply({ kept: "1" });
    expect((await stored()).data).toEqual({ kept: "1", theirs: "1" });
    await seen();
    await apply({ kept: "1" });
    expect(world.requests()).toEqual([]);
  });

  test("are adopted also when somebody writes in between", async () => {
    await earlier().create(ConfigMap, configMap({ kept: "1", dropped: "1" }));
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
    await apply({ kept: "1" });
    expect((await stored()).data).toEqual({ kept: "1", theirs: "2" });
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
    await world.person.create(ConfigMap, configMap({ a: "another" }));
    await expect(children.remove(ConfigMap, present)).rejects.toMatchObject({ reason: "Conflict" });
    await seen();
    await children.remove(ConfigMap, (await stored()) as Stored<ConfigMap>);
    await expect(stored()).rejects.toMatchObject({ reason: "NotFound" });
    expect(world.requests()).toEqual(["delete n/configmaps/child"]);
  });

  test("asks for no second deletion of an object that its finalizers keep", async () => {
    await world.person.create(ConfigMap, configMap({}, { finalizers: ["example.com/wait"] }));
    await world.person.delete(ConfigMap, ref);
    await seen();
    await children.remove(ConfigMap, await stored());
    expect(world.requests()).toEqual([]);
  });
});
