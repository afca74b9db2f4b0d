import { expect, test } from "vitest";
import { Parent } from "../../test/support/manager-under-test.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { silentLog } from "../../testing/stub-client.ts";
import { ConfigMap, Secret, Service } from "../kinds.ts";
import type { KubeObject, Stored } from "../object.ts";
import { awaitChange } from "../queue/action.ts";
import { cachesOf } from "./caches-of.ts";
import { type Controller, controller } from "./controller.ts";

const byName = ({ metadata }: Stored<KubeObject>) => [metadata.name];
const byUid = ({ metadata }: Stored<KubeObject>) => [metadata.uid];
const nothing = async () => awaitChange;

function cachesFor(...controllers: Controller[]) {
  const clock = new VirtualClock();
  const client = new FakeApi(clock).client();
  return cachesOf(controllers, { client, clock, random: () => 0.5, log: silentLog, namespaces: [] });
}

test("controllers that watch the same kind share one cache, with the indexes of all of them", () => {
  const caches = cachesFor(
    controller("one")
      .for(Parent, { indexes: { name: byName } })
      .owns([ConfigMap])
      .reconcile(nothing),
    controller("two")
      .for(Parent, { indexes: { uid: byUid } })
      .owns([ConfigMap])
      .watches(Service, () => [])
      .reconcile(nothing),
  );
  expect([...caches.all()].map((cache) => cache.kind.kind)).toEqual(["Parent", "ConfigMap", "Service"]);
  for (const index of ["name", "uid"]) expect(caches.of(Parent).byIndex(index, "x")).toEqual([]);
});

test("without options uses the cache of the others", () => {
  const options = { indexes: { name: byName } };
  const caches = cachesFor(
    controller("one")
      .for(Parent)
      .watches(Secret, () => [])
      .reconcile(nothing),
    controller("two")
      .for(Service)
      .watches(Secret, () => [], options)
      .watches(Secret, () => [])
      .reconcile(nothing),
  );
  expect(caches.of(Secret).byIndex("name", "x")).toEqual([]);
});

test("controllers that want different objects of one kind are refused before anything runs", () => {
  const one = controller("one").for(Parent).owns([ConfigMap], { labelSelector: "a=1" }).reconcile(nothing);
  const two = controller("two").for(Service).owns([ConfigMap], { labelSelector: "a=2" }).reconcile(nothing);
  expect(() => cachesFor(one, two)).toThrow(
    "two controllers watch configmaps with a different labelSelector",
  );
});

test("controllers that mean different things by one index are refused before anything runs", () => {
  const indexed = (name: string, index: typeof byName) =>
    controller(name)
      .for(Parent)
      .watches(Secret, () => [], { indexes: { same: index } })
      .reconcile(nothing);
  expect(() => cachesFor(indexed("one", byName), indexed("two", byUid))).toThrow(
    'two controllers index secrets by different functions as "same"',
  );
  expect(cachesFor(indexed("one", byName), indexed("two", byName)).of(Secret).byIndex("same", "x")).toEqual(
    [],
  );
});

test("a kind that is not watched has no cache", () => {
  const caches = cachesFor(controller("one").for(Parent).reconcile(nothing));
  expect(() => caches.of(Secret)).toThrow("no controller watches secrets");
});
