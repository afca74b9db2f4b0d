import { describe, expect, test } from "vitest";
import { Parent, runManager } from "../../test/support/manager-under-test.ts";
import { neverAnswers, offline, when } from "../../testing/faulty-transport.ts";
import { ConfigMap, kind, Secret, Service } from "../kinds.ts";
import type { KubeObject } from "../object.ts";
import { awaitChange } from "../queue/action.ts";
import { controller, type Reconcile } from "./controller.ts";
import { writeStatus } from "./status.ts";

const labels = { owner: "us" };
const parent = (name: string, spec: Parent["spec"] = {}) => ({ metadata: { namespace: "n", name }, spec });
const ref = (name: string) => ({ namespace: "n", name });

/** A controller that records its runs, with everything that may cause one. */
async function setUp(work: Reconcile = async () => awaitChange) {
  const runs: string[] = [];
  const parents = controller("parent")
    .for(Parent, { indexes: { secret: ({ spec }) => (spec?.secretName ? [spec.secretName] : []) } })
    .owns([ConfigMap], { labelSelector: "owner=us" })
    .watches(Service, ({ metadata }, caches) =>
      caches
        .of(Parent)
        .byIndex("secret", metadata.labels?.for ?? "")
        .map((object) => `n/${object.metadata.name}`),
    )
    .refersTo(Secret, ({ spec }) => (spec?.secretName ? [ref(spec.secretName)] : []))
    .reconcile(async (key, context) => {
      runs.push(key);
      // A controller that triggers itself would run endlessly.
      return runs.length > 20 ? awaitChange : work(key, context);
    });
  const world = await runManager([parents]);
  const ran = async (ms = 0) => {
    await world.clock.advance(ms);
    return runs.splice(0);
  };
  return { ...world, ran };
}

describe("an object runs", () => {
  test("when it is made, when a user changes it, and when it is gone", async () => {
    const { person, ran } = await setUp();
    await person.create(Parent, parent("x"));
    expect(await ran()).toEqual(["n/x"]);
    await person.mergePatch(Parent, ref("x"), { spec: { text: "b" } });
    expect(await ran()).toEqual(["n/x"]);
    await person.patchStatus(Parent, ref("x"), { status: { seen: "b" } });
    expect(await ran()).toEqual([]);
    await person.delete(Parent, ref("x"));
    expect(await ran()).toEqual(["n/x"]);
  });

  test("when a child of it is changed or deleted by others, and only the object that owns it", async () => {
    const { person, ran } = await setUp(async (key, { caches, children }) => {
      const object = caches.of(Parent).get(key);
      if (!object) return awaitChange;
      const child = { metadata: { ...ref(object.metadata.name), labels }, data: {} };
      await children.apply(ConfigMap, child, { kind: Parent, object, labels: {} });
      return awaitChange;
    });
    await person.create(Parent, parent("x"));
    await person.create(Parent, parent("y"));
    expect((await ran()).sort()).toEqual(["n/x", "n/y"]);
    await person.mergePatch(ConfigMap, ref("x"), { data: { drifted: "1" } });
    expect(await ran()).toEqual(["n/x"]);
    await person.delete(ConfigMap, ref("y"));
    expect(await ran()).toEqual(["n/y"]);
    await person.create(ConfigMap, { metadata: { ...ref("z"), labels } });
    expect(await ran()).toEqual([]);
  });

  test("when a watched object points at it, before or after the change", async () => {
    const { person, ran } = await setUp();
    await person.create(Parent, parent("x", { secretName: "one" }));
    await person.create(Parent, parent("y", { secretName: "two" }));
    await ran();
    await person.create(Service, { metadata: { ...ref("s"), labels: { for: "one" } } });
    expect(await ran()).toEqual(["n/x"]);
    await person.mergePatch(Service, ref("s"), { metadata: { labels: { for: "two" } } });
    expect((await ran()).sort()).toEqual(["n/x", "n/y"]);
    await person.delete(Service, ref("s"));
    expect(await ran()).toEqual(["n/y"]);
  });

  test("when an object that it refers to changes, and no longer than it refers to it", async () => {
    const { person, ran } = await setUp(async (_key, { referenced }) => {
      await referenced(Secret).get(ref("s"));
      return awaitChange;
    });
    await person.create(Parent, parent("x", { secretName: "s" }));
    await ran();
    await person.create(Secret, { metadata: ref("s") });
    expect(await ran()).toEqual(["n/x"]);
    await person.mergePatch(Parent, ref("x"), { spec: { secretName: null } });
    await ran();
    await person.delete(Secret, ref("s"));
    expect(await ran()).toEqual([]);
  });
});

test("changes for which the predicate of an owned or watched kind says no cause no run", async () => {
  const runs: string[] = [];
  const important = ({ object }: { object: KubeObject }) => object.metadata?.labels?.important === "yes";
  const parents = controller("parent")
    .for(Parent)
    .owns([ConfigMap], { labelSelector: "owner=us", when: important })
    .watches(Service, ({ metadata }) => [`n/${metadata.name}`], { when: important })
    .reconcile(async (key) => {
      runs.push(key);
      return awaitChange;
    });
  const { person, clock } = await runManager([parents]);
  const { uid } = (await person.create(Parent, parent("x"))).metadata;
  await clock.advance(0);
  runs.length = 0;
  const ownerReferences = [{ ...Parent, name: "x", uid, controller: true }];
  for (const important of ["no", "yes"]) {
    await person.apply(Service, { metadata: { ...ref("watched"), labels: { important } } });
    const child = { ...ref("child"), ownerReferences, labels: { ...labels, important } };
    await person.apply(ConfigMap, { metadata: child });
    await clock.advance(0);
    expect(runs.splice(0).sort()).toEqual(important === "yes" ? ["n/watched", "n/x"] : []);
  }
});

test("changes of a kind that settles cause one run together, and none after a run for another reason", async () => {
  const runs: string[] = [];
  const parents = controller("parent")
    .for(Parent)
    .watches(Service, () => ["n/x"], { settleMs: 100 })
    .reconcile(async (key) => {
      runs.push(key);
      return awaitChange;
    });
  const { person, clock } = await runManager([parents]);
  const changeServices = async () => {
    for (const labels of [{ a: "1" }, { a: "2" }]) {
      await person.apply(Service, { metadata: { ...ref("s"), labels } });
      await clock.advance(49);
    }
  };
  await changeServices();
  expect(runs).toEqual([]);
  await clock.advance(2);
  expect(runs.splice(0)).toEqual(["n/x"]);
  await changeServices();
  await person.create(Parent, parent("x"));
  await clock.advance(60_000);
  expect(runs).toEqual(["n/x"]);
});

test("a child in a namespace runs the cluster-scoped object that owns it", async () => {
  const runs: string[] = [];
  const Tenant = kind<KubeObject>("example.com/v1", { kind: "Tenant", plural: "tenants", namespaced: false });
  const tenants = controller("tenant")
    .for(Tenant)
    .owns([ConfigMap])
    .reconcile(async (key, { caches, children }) => {
      runs.push(key);
      const object = caches.of(Tenant).get(key);
      if (object)
        await children.apply(ConfigMap, { metadata: ref("child") }, { kind: Tenant, object, labels: {} });
      return awaitChange;
    });
  const { api, person, clock } = await runManager([tenants]);
  api.install(Tenant);
  await clock.advance(10_000);
  await person.create(Tenant, { metadata: { name: "acme" } });
  await clock.advance(0);
  await person.mergePatch(ConfigMap, ref("child"), { data: { drifted: "1" } });
  await clock.advance(0);
  expect(runs).toEqual(["acme", "acme"]);
});

describe("a run", () => {
  test("is not caused by what an earlier one wrote itself", async () => {
    const { person, ran, requests } = await setUp(async (key, { caches, children, client }) => {
      const object = caches.of(Parent).get(key);
      if (!object) return awaitChange;
      const child = { metadata: { ...ref("child"), labels }, data: { text: object.spec?.text ?? "" } };
      await children.apply(ConfigMap, child, { kind: Parent, object, labels: {} });
      await client.mergePatch(Parent, ref("x"), { metadata: { labels: { seen: object.spec?.text ?? "" } } });
      await writeStatus<Parent, object>(client, { kind: Parent, object, update: () => ({ seen: "a" }) });
      return awaitChange;
    });
    await person.create(Parent, parent("x", { text: "a" }));
    expect(await ran(60_000)).toEqual(["n/x"]);
    expect(requests()).toContain("apply n/configmaps/child");
    await person.mergePatch(Parent, ref("x"), { spec: { text: "b" } });
    expect(await ran(60_000)).toEqual(["n/x"]);
  });

  test("is caused by another client's change that only the response to an own write shows", async () => {
    const { person, transport, ran } = await setUp(async (key, { caches, children }) => {
      const object = caches.of(Parent).get(key);
      if (!object) return awaitChange;
      const child = { metadata: { ...ref("child"), labels }, data: { text: object.spec?.text ?? "" } };
      await children.apply(ConfigMap, child, { kind: Parent, object, labels: {} });
      return awaitChange;
    });
    await person.create(Parent, parent("x", { text: "a" }));
    expect(await ran()).toEqual(["n/x"]);
    // No watch reports the drift before the run of the other change applies the child.
    transport.fault = when(
      ({ path, streaming }) => streaming === true && path.includes("configmaps"),
      offline,
    );
    transport.cutWatches();
    await person.mergePatch(ConfigMap, ref("child"), { data: { drifted: "1" } });
    await person.mergePatch(Parent, ref("x"), { spec: { text: "b" } });
    expect(await ran(2_000)).toEqual(["n/x", "n/x"]);
    transport.fault = undefined;
    expect(await ran(60_000)).toEqual([]);
  });

  test("sees what the one before it wrote, although no watch has reported it", async () => {
    const seen: (string | undefined)[] = [];
    const { person, transport, ran } = await setUp(async (key, { caches, client, children }) => {
      const object = caches.of(Parent).get(key);
      if (!object) return awaitChange;
      seen.push(caches.of(ConfigMap).get("n/child")?.data?.text);
      // No watch reports anything from here on.
      transport.fault = when(({ streaming }) => streaming ?? false, neverAnswers);
      transport.cutWatches();
      const text = `${seen.length}`;
      const child = { metadata: { ...ref("child"), labels }, data: { text } };
      await children.apply(ConfigMap, child, { kind: Parent, object, labels: {} });
      await client.mergePatch(Parent, ref("x"), { metadata: { labels: { text } } });
      return { kind: "requeue", afterMs: 1_000 };
    });
    await person.create(Parent, parent("x"));
    await ran(2_500);
    expect(seen).toEqual([undefined, "1", "2"]);
  });
});
