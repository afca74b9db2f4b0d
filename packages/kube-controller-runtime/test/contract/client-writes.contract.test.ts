import {
  ConfigMap,
  isAlreadyExists,
  isConflict,
  isNotFound,
  refOf,
  ServiceAccount,
} from "kube-controller-runtime";
import { beforeAll, describe, expect, test } from "vitest";
import { contract, newWidgetKind } from "./api-under-test.ts";
import { failure } from "./support.ts";

contract("a client that writes", (api) => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await api().newNamespace();
  });

  const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    metadata: { namespace, name },
    data,
  });

  describe("writes", () => {
    test("a second object of the same name is AlreadyExists", async () => {
      await api().client.create(ConfigMap, configMap("twice"));
      const error = await failure(api().client.create(ConfigMap, configMap("twice")));
      expect(isAlreadyExists(error)).toBe(true);
      expect(error).toMatchObject({ code: 409 });
    });

    test("an object that breaks the rules of its kind is Invalid", async () => {
      const error = await failure(api().client.create(ConfigMap, configMap("Not_A_Name")));
      expect(error).toMatchObject({ reason: "Invalid", code: 422 });
    });

    test("an apply on the condition of a version that nothing has makes what is missing, and nothing else", async () => {
      const desired = configMap("create-only", { a: "1" });
      const once = { ...desired, metadata: { ...desired.metadata, resourceVersion: "1" } };
      const created = await api().client.apply(ConfigMap, once);
      expect(created.metadata.managedFields).toMatchObject([{ operation: "Apply" }]);
      expect(isConflict(await failure(api().client.apply(ConfigMap, { ...once, data: { a: "2" } })))).toBe(
        true,
      );
      expect(await api().client.get(ConfigMap, refOf(created))).toEqual(created);
    });

    test("an apply to another incarnation is Invalid, and to one that is gone a Conflict", async () => {
      const created = await api().client.create(ConfigMap, configMap("incarnation"));
      const uid = "11111111-1111-1111-1111-111111111111";
      const other = { metadata: { namespace, name: "incarnation", uid }, data: { a: "1" } };
      expect(await failure(api().client.apply(ConfigMap, other))).toMatchObject({
        reason: "Invalid",
        code: 422,
      });
      await api().client.delete(ConfigMap, refOf(created));
      expect(isConflict(await failure(api().client.apply(ConfigMap, other)))).toBe(true);
    });

    test("a field that another client changes or removes no longer belongs to the manager that applied it", async () => {
      await api().client.apply(ConfigMap, configMap("taken", { a: "1", b: "1", c: "1" }));
      const ref = { namespace, name: "taken" };
      const taken = await api().other.mergePatch(ConfigMap, ref, { data: { a: "2", b: null, d: "1" } });
      const applied = taken.metadata.managedFields?.find(({ operation }) => operation === "Apply");
      expect(applied?.fieldsV1).toEqual({ "f:data": { "f:c": {} } });
    });

    test("a merge patch changes what it names and nothing else", async () => {
      const created = await api().client.create(ConfigMap, configMap("merge", { a: "1", b: "2" }));
      const patch = { data: { a: null, c: "3" } };
      const patched = await api().client.mergePatch(ConfigMap, refOf(created), patch);
      expect(patched.data).toEqual({ b: "2", c: "3" });
      expect(patched.metadata.uid).toBe(created.metadata.uid);
      expect(patched.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
    });

    test("a merge patch of an outdated version is a Conflict and changes nothing", async () => {
      const created = await api().client.create(ConfigMap, configMap("stale"));
      await api().other.mergePatch(ConfigMap, refOf(created), { data: { theirs: "1" } });
      const { resourceVersion } = created.metadata;
      const patch = { metadata: { resourceVersion }, data: { ours: "1" } };
      const error = await failure(api().client.mergePatch(ConfigMap, refOf(created), patch));
      expect(isConflict(error)).toBe(true);
      expect((await api().client.get(ConfigMap, refOf(created))).data).toEqual({ theirs: "1" });
    });

    test("a merge patch of a missing object is NotFound", async () => {
      const work = api().client.mergePatch(ConfigMap, { namespace, name: "missing" }, { data: {} });
      expect(isNotFound(await failure(work))).toBe(true);
    });

    test("a JSON patch works on what its test finds, and is Invalid when the test fails", async () => {
      const created = await api().client.create(ConfigMap, configMap("json", { a: "1" }));
      const swap = (from: string, to: string) =>
        api().client.jsonPatch(ConfigMap, refOf(created), [
          { op: "test", path: "/data/a", value: from },
          { op: "replace", path: "/data/a", value: to },
        ]);
      expect((await swap("1", "2")).data).toEqual({ a: "2" });
      expect(await failure(swap("1", "3"))).toMatchObject({ reason: "Invalid", code: 422 });
      expect((await api().client.get(ConfigMap, refOf(created))).data).toEqual({ a: "2" });
    });

    test("a JSON patch that names an old version is a Conflict", async () => {
      const { metadata } = await api().client.create(ConfigMap, configMap("json-old", { a: "1" }));
      const write = (value: string) =>
        api().client.jsonPatch(ConfigMap, refOf({ metadata }), [
          { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
          { op: "replace", path: "/data/a", value },
        ]);
      expect((await write("2")).data).toEqual({ a: "2" });
      expect(await failure(write("3"))).toMatchObject({ reason: "Conflict", code: 409 });
    });
  });

  describe("server-side apply", () => {
    test("creates an object that is missing and changes one that exists", async () => {
      const created = await api().client.apply(ConfigMap, configMap("apply", { a: "1" }));
      const changed = await api().client.apply(ConfigMap, configMap("apply", { a: "2" }));
      expect(changed.data).toEqual({ a: "2" });
      expect(changed.metadata.uid).toBe(created.metadata.uid);
    });

    test("leaves the version alone when there is nothing to change", async () => {
      const first = await api().client.apply(ConfigMap, configMap("calm", { a: "1" }));
      const second = await api().client.apply(ConfigMap, configMap("calm", { a: "1" }));
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    test("removes what it applied before and no longer applies, and keeps what others wrote", async () => {
      await api().client.apply(ConfigMap, configMap("shrink", { mine: "1", gone: "1" }));
      await api().other.mergePatch(ConfigMap, { namespace, name: "shrink" }, { data: { theirs: "1" } });
      const { data } = await api().client.apply(ConfigMap, configMap("shrink", { mine: "1" }));
      expect(data).toEqual({ mine: "1", theirs: "1" });
    });

    test("takes a field over from the client that changed it", async () => {
      await api().client.apply(ConfigMap, configMap("take", { a: "ours" }));
      await api().other.apply(ConfigMap, configMap("take", { a: "theirs" }));
      expect((await api().client.apply(ConfigMap, configMap("take", { a: "ours" }))).data).toEqual({
        a: "ours",
      });
      // The other manager no longer owns the field: omitting it removes nothing.
      expect((await api().other.apply(ConfigMap, configMap("take"))).data).toEqual({ a: "ours" });
      const { metadata } = await api().client.get(ConfigMap, { namespace, name: "take" });
      const managers = metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
      expect(managers).toContain("contract Apply");
    });

    test("of an outdated version is a Conflict", async () => {
      const { metadata } = await api().client.apply(ConfigMap, configMap("locked", { a: "1" }));
      await api().other.mergePatch(ConfigMap, refOf({ metadata }), { data: { b: "1" } });
      const { resourceVersion } = metadata;
      const wanted = { metadata: { namespace, name: "locked", resourceVersion }, data: { a: "2" } };
      expect(isConflict(await failure(api().client.apply(ConfigMap, wanted)))).toBe(true);
    });
  });

  describe("status", () => {
    const Widget = newWidgetKind();
    beforeAll(() => api().install(Widget));

    test("a status patch touches status alone, and other writes leave status alone", async () => {
      const ref = { namespace, name: "status" };
      const created = await api().client.create(Widget, {
        metadata: ref,
        spec: { size: 1 },
        status: { phase: "No" },
      });
      expect(created.status).toBeUndefined();
      const patch = { metadata: { labels: { no: "no" } }, spec: { size: 9 }, status: { phase: "Ready" } };
      const reported = await api().client.patchStatus(Widget, ref, patch);
      expect(reported).toMatchObject({ spec: { size: 1 }, status: { phase: "Ready" } });
      expect(reported.metadata.generation).toBe(created.metadata.generation);
      const changed = await api().client.mergePatch(Widget, ref, {
        spec: { size: 2 },
        status: { phase: "No" },
      });
      expect(changed).toMatchObject({ spec: { size: 2 }, status: { phase: "Ready" } });
      expect(changed.metadata.generation).toBe(2);
    });

    test("a kind without the subresource answers NotFound", async () => {
      await api().client.create(ConfigMap, configMap("plain"));
      const work = api().client.patchStatus(ConfigMap, { namespace, name: "plain" }, { status: {} });
      expect(isNotFound(await failure(work))).toBe(true);
    });
  });

  describe("deletion", () => {
    test("resolves with nothing when the object is gone, and when it never was", async () => {
      const ref = refOf(await api().client.create(ConfigMap, configMap("delete")));
      expect(await api().client.delete(ConfigMap, ref)).toBeUndefined();
      expect(isNotFound(await failure(api().client.get(ConfigMap, ref)))).toBe(true);
      expect(await api().client.delete(ConfigMap, ref)).toBeUndefined();
    });

    test("resolves with nothing for kinds that answer with the deleted object", async () => {
      const ref = refOf(
        await api().client.create(ServiceAccount, { metadata: { namespace, name: "delete" } }),
      );
      expect(await api().client.delete(ServiceAccount, ref)).toBeUndefined();
    });

    test("resolves with the object while finalizers keep it; removing the last one ends it", async () => {
      const finalizers = ["example.com/hold"];
      const created = await api().client.create(ConfigMap, {
        metadata: { namespace, name: "held", finalizers },
      });
      const remains = await api().client.delete(ConfigMap, refOf(created));
      expect(remains?.metadata).toMatchObject({ uid: created.metadata.uid, finalizers });
      expect(remains?.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      const again = await api().client.delete(ConfigMap, refOf(created));
      expect(again?.metadata.resourceVersion).toBe(remains?.metadata.resourceVersion);
      const released = await api().client.mergePatch(ConfigMap, refOf(created), {
        metadata: { finalizers: null },
      });
      expect(released.metadata.deletionTimestamp).toBe(remains?.metadata.deletionTimestamp);
      expect(released.metadata.finalizers).toBeUndefined();
      expect(isNotFound(await failure(api().client.get(ConfigMap, refOf(created))))).toBe(true);
    });

    test.each([
      ["uid", { uid: "00000000-0000-0000-0000-000000000000" }],
      ["resourceVersion", { resourceVersion: "1" }],
    ])("is a Conflict when the object has another %s than expected", async (field, precondition) => {
      const created = await api().client.create(ConfigMap, configMap(`keep-${field.toLowerCase()}`));
      const error = await failure(api().client.delete(ConfigMap, refOf(created), precondition));
      expect(isConflict(error)).toBe(true);
      expect(await api().client.get(ConfigMap, refOf(created))).toEqual(created);
      const { uid, resourceVersion } = created.metadata;
      expect(await api().client.delete(ConfigMap, refOf(created), { uid, resourceVersion })).toBeUndefined();
    });
  });
});
