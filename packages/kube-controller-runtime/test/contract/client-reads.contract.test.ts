import { ConfigMap, isNotFound, refOf } from "kube-controller-runtime";
import { beforeAll, expect, test } from "vitest";
import { contract, newWidgetKind } from "./api-under-test.ts";
import { failure, namespaceOfThree } from "./support.ts";

contract("a client that reads", (api) => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await api().newNamespace();
  });

  const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    metadata: { namespace, name },
    data,
  });

  test("a created object is returned with an identity, a version and its kind", async () => {
    const created = await api().client.create(ConfigMap, configMap("read", { a: "1" }));
    const read = await api().client.get(ConfigMap, refOf(created));
    expect(read).toEqual(created);
    expect(read).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } });
    expect(read.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(Number(read.metadata.resourceVersion)).toBeGreaterThan(0);
  });

  test("a missing object is NotFound", async () => {
    const error = await failure(api().client.get(ConfigMap, { namespace, name: "missing" }));
    expect(isNotFound(error)).toBe(true);
    expect(error).toMatchObject({ code: 404, message: expect.stringContaining(`${namespace}/missing`) });
  });

  test("a kind that the server does not serve is NotFound", async () => {
    expect(isNotFound(await failure(api().client.list(newWidgetKind())))).toBe(true);
  });

  test("pages of a list hold every object once, all as of the first page", async () => {
    const pages = await api().newNamespace();
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await api().other.create(ConfigMap, { metadata: { namespace: pages, name } });
    const first = await api().client.list(ConfigMap, { namespace: pages, limit: 2 });
    await api().other.delete(ConfigMap, { namespace: pages, name: "e" });
    const seen = first.items.map((item) => item.metadata.name);
    let { continueToken } = first;
    while (continueToken) {
      const page = await api().client.list(ConfigMap, { namespace: pages, limit: 2, continueToken });
      expect(page.resourceVersion).toBe(first.resourceVersion);
      seen.push(...page.items.map((item) => item.metadata.name));
      ({ continueToken } = page);
    }
    expect(seen.filter((name) => names.includes(name))).toEqual(names);
  });

  test.each([
    [{ labelSelector: "team=red" }, ["one"]],
    [{ labelSelector: "team in (red,blue)" }, ["one", "two"]],
    [{ labelSelector: "team,team notin (red)" }, ["two"]],
    [{ labelSelector: "team!=red,!other" }, ["three", "two"]],
    [{ fieldSelector: "metadata.name=two" }, ["two"]],
    [{ labelSelector: "team=red", fieldSelector: "metadata.name=two" }, []],
  ])("a list takes the selection %j", async (selection, expected) => {
    const selected = await namespaceOfThree(api());
    const { items } = await api().client.list(ConfigMap, { namespace: selected, ...selection });
    const names = items.map((item) => item.metadata.name).filter((name) => name !== "kube-root-ca.crt");
    expect(names).toEqual(expected);
  });

  test("a selection that the server cannot read is BadRequest", async () => {
    const error = await failure(api().client.list(ConfigMap, { namespace, fieldSelector: "data.a=1" }));
    expect(error).toMatchObject({ reason: "BadRequest", code: 400 });
  });

  test("a list of metadata alone carries no content", async () => {
    const created = await api().client.create(ConfigMap, configMap("light", { secret: "content" }));
    const options = { namespace, fieldSelector: "metadata.name=light", metadataOnly: true };
    const { items } = await api().client.list(ConfigMap, options);
    expect(items.map((item) => item.metadata.uid)).toEqual([created.metadata.uid]);
    expect(JSON.stringify(items)).not.toContain("content");
  });
});
