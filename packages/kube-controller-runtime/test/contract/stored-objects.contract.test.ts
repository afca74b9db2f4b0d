import {
  ConfigMap,
  CoreEvent,
  Deployment,
  isConflict,
  type ObjectMeta,
  Secret,
} from "kube-controller-runtime";
import { beforeAll, describe, expect, test } from "vitest";
import { contract, newWidgetKind } from "./api-under-test.ts";
import { failure } from "./support.ts";

contract("what an API server stores", (api) => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await api().newNamespace();
  });

  describe("of a custom kind with a schema", () => {
    const Widget = newWidgetKind();
    const properties = {
      size: { type: "integer", default: 1 },
      box: {
        type: "object",
        default: {},
        properties: { color: { type: "string", default: "red" }, label: { type: "string" } },
      },
      parts: {
        type: "array",
        items: {
          type: "object",
          properties: { name: { type: "string" }, count: { type: "integer", default: 2 } },
        },
      },
      byName: {
        type: "object",
        additionalProperties: { type: "object", properties: { on: { type: "boolean", default: true } } },
      },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    };
    const spec = { type: "object", properties };
    const status = { type: "object", properties: { phase: { type: "string" } } };
    beforeAll(() => api().install(Widget, { type: "object", properties: { spec, status } }));

    const create = async (name: string, content: object) => {
      const created = await api().client.create(Widget, { metadata: { namespace, name }, spec: content });
      return created.spec as object;
    };

    test("has the defaults of the schema, also within an object that is a default itself", async () => {
      expect(await create("empty", {})).toEqual({ size: 1, box: { color: "red" } });
    });

    test("keeps given values, and sets defaults, in lists and maps too", async () => {
      const given = { size: 5, box: { label: "x" }, parts: [{ name: "a" }], byName: { b: {} } };
      expect(await create("given", given)).toEqual({
        size: 5,
        box: { label: "x", color: "red" },
        parts: [{ name: "a", count: 2 }],
        byName: { b: { on: true } },
      });
    });

    test("has only fields of the schema, except where it allows any", async () => {
      const given = { typo: 1, box: { typo: 2 }, free: { anything: { goes: 3 } } };
      expect(await create("unknown", given)).toMatchObject({ free: { anything: { goes: 3 } } });
      const stored = await api().client.get(Widget, { namespace, name: "unknown" });
      expect(JSON.stringify(stored.spec)).not.toContain("typo");
    });

    test("gets a default back when a patch removes the field", async () => {
      await create("removed", { size: 7 });
      const ref = { namespace, name: "removed" };
      const { spec: after } = await api().client.mergePatch(Widget, ref, { spec: { size: null } });
      expect(after).toMatchObject({ size: 1 });
    });

    test("without a spec has none: the defaults of a spec need one", async () => {
      const bare = await api().client.create(Widget, { metadata: { namespace, name: "bare" } });
      expect(bare.spec).toBeUndefined();
    });
  });

  describe("of owners", () => {
    const owner = (name: string, controller: boolean) => ({
      apiVersion: "example.com/v1",
      kind: "Owner",
      name,
      uid: `uid-of-${name}`,
      controller,
    });
    const owned = (
      name: string,
      ...ownerReferences: NonNullable<ObjectMeta["ownerReferences"]>
    ): ConfigMap => ({
      metadata: { namespace, name, ownerReferences },
    });

    test("is one controller at most: a second one is Invalid, created or applied", async () => {
      const two = [owner("a", true), owner("b", true)] as const;
      expect(await failure(api().client.create(ConfigMap, owned("two", ...two)))).toMatchObject({
        reason: "Invalid",
      });
      await api().other.create(ConfigMap, owned("taken", owner("theirs", true)));
      const work = api().client.apply(ConfigMap, owned("taken", owner("ours", true)));
      expect(await failure(work)).toMatchObject({ reason: "Invalid", code: 422 });
    });

    test("is tracked for each reference: applying one keeps those of others", async () => {
      await api().other.create(ConfigMap, owned("shared", owner("theirs", false)));
      await api().client.apply(ConfigMap, owned("shared", owner("ours", true)));
      const { metadata } = await api().client.apply(ConfigMap, { metadata: { namespace, name: "shared" } });
      expect(metadata.ownerReferences?.map(({ name }) => name)).toEqual(["theirs"]);
    });
  });

  describe("of applied lists whose items have names", () => {
    const deployment = (name: string, containers: object[]): Deployment =>
      ({
        metadata: { namespace, name },
        spec: {
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels: { app: name } }, spec: { containers } },
        },
      }) as unknown as Deployment;
    const envOf = ({ spec }: Deployment) =>
      spec?.template.spec?.containers.map(({ name, env }) => [name, env?.map((variable) => variable.name)]);
    const ours = (...names: string[]) => ({
      name: "ours",
      image: "ours",
      env: names.map((name) => ({ name, value: "1" })),
    });

    test("is tracked for each item: items of others are kept, items that are no longer applied are removed", async () => {
      await api().client.apply(Deployment, deployment("items", [ours("A", "B")]));
      const theirs = [
        { name: "ours", env: [{ name: "THEIRS", value: "1" }] },
        { name: "theirs", image: "x" },
      ];
      await api().other.apply(Deployment, deployment("items", theirs));
      const result = await api().client.apply(Deployment, deployment("items", [ours("B")]));
      expect(Object.fromEntries(envOf(result) ?? [])).toEqual({ ours: ["B", "THEIRS"], theirs: undefined });
    });
  });

  test("an empty map of data is absent, and one that is applied empty can be filled later", async () => {
    const metadata = { namespace, name: "hollow" };
    const created = await api().client.apply(Secret, { metadata, data: {} });
    expect(created.data).toBeUndefined();
    const filled = await api().client.apply(Secret, { metadata, data: { key: "dmFsdWU=" } });
    expect(filled.data).toEqual({ key: "dmFsdWU=" });
    const emptied = await api().client.mergePatch(Secret, metadata, { data: { key: null } });
    expect(emptied.data).toBeUndefined();
  });

  test("events are found by their object and their reason, and other kinds by neither", async () => {
    const event = (name: string, about: string, reason: string): CoreEvent => ({
      metadata: { namespace, name },
      involvedObject: { kind: "Widget", namespace, name: about },
      reason,
      type: "Normal",
    });
    await api().client.create(CoreEvent, event("e1", "a", "Made"));
    await api().client.create(CoreEvent, event("e2", "a", "Lost"));
    await api().client.create(CoreEvent, event("e3", "b", "Made"));
    const fieldSelector = "involvedObject.name=a,reason=Made";
    const { items } = await api().client.list(CoreEvent, { namespace, fieldSelector });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["e1"]);
    const wrong = api().client.list(ConfigMap, { namespace, fieldSelector: "reason=Made" });
    expect(await failure(wrong)).toMatchObject({ reason: "BadRequest", code: 400 });
  });

  test("a status write of a Deployment does not change its generation", async () => {
    const { metadata } = await api().client.create(Deployment, {
      metadata: { namespace, name: "rolled" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "rolled" } },
        template: {
          metadata: { labels: { app: "rolled" } },
          spec: { containers: [{ name: "c", image: "i" }] },
        },
      },
    });
    expect(metadata.generation).toBe(1);
    const ref = { namespace, name: "rolled" };
    const status = { observedGeneration: 1, replicas: 2, readyReplicas: 2 };
    const reported = await api().client.patchStatus(Deployment, ref, { status });
    expect(reported).toMatchObject({ metadata: { generation: 1 }, status });
    const changed = await api().client.mergePatch(Deployment, ref, { spec: { replicas: 3 } });
    expect(changed).toMatchObject({ metadata: { generation: 2 }, status });
    const stale = { metadata: { resourceVersion: metadata.resourceVersion }, status };
    expect(isConflict(await failure(api().client.patchStatus(Deployment, ref, stale)))).toBe(true);
  });
});
