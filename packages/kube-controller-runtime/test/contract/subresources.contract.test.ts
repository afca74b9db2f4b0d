import { ConfigMap, Deployment, isNotFound, Pod, PodEviction, scaleOf } from "kube-controller-runtime";
import { expect, test } from "vitest";
import { contract } from "./api-under-test.ts";
import { failure } from "./support.ts";

const labels = { app: "web" };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: "web", image: "example.invalid/web:1" }] },
};

contract("subresources and dry runs", (api) => {
  test("a scale has the replicas of its object, and changes them", async () => {
    const { client } = api();
    const ref = { namespace: await api().newNamespace(), name: "web" };
    const spec = { replicas: 2, selector: { matchLabels: labels }, template };
    const { metadata } = await client.create(Deployment, { metadata: ref, spec });
    const Scale = scaleOf(Deployment);
    const scale = await client.get(Scale, ref);
    expect(scale).toMatchObject({
      kind: "Scale",
      metadata: { ...ref, uid: metadata.uid },
      spec: { replicas: 2 },
    });
    const patched = await client.mergePatch(Scale, ref, { spec: { replicas: 5 } });
    expect(patched.spec).toEqual({ replicas: 5 });
    expect((await client.get(Deployment, ref)).spec?.replicas).toBe(5);
  });

  test("a scale of a missing object is not found", async () => {
    const ref = { namespace: await api().newNamespace(), name: "absent" };
    expect(isNotFound(await failure(api().client.get(scaleOf(Deployment), ref)))).toBe(true);
  });

  test("an evicted pod is gone", async () => {
    const { client } = api();
    const ref = { namespace: await api().newNamespace(), name: "web" };
    const spec = { ...template.spec, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false };
    await client.create(Pod, { metadata: { ...ref, labels }, spec });
    await client.create(PodEviction, { metadata: ref });
    expect(isNotFound(await failure(client.get(Pod, ref)))).toBe(true);
  });

  test("a dry run of every write gets the response of the write, and changes nothing", async () => {
    const { client, other } = api();
    const ref = { namespace: await api().newNamespace(), name: "a" };
    const dry = other.dryRun();
    const made = await dry.create(ConfigMap, { metadata: ref, data: { value: "1" } });
    expect(made).toMatchObject({ metadata: ref, data: { value: "1" } });
    expect(isNotFound(await failure(client.get(ConfigMap, ref)))).toBe(true);
    const before = await client.create(ConfigMap, { metadata: ref, data: { value: "1" } });
    expect((await dry.mergePatch(ConfigMap, ref, { data: { value: "2" } })).data).toEqual({ value: "2" });
    expect((await dry.apply(ConfigMap, { metadata: ref, data: { more: "3" } })).data).toEqual({
      value: "1",
      more: "3",
    });
    await dry.delete(ConfigMap, ref);
    expect(await client.get(ConfigMap, ref)).toEqual(before);
  });

  test("a dry run is refused as the write would be", async () => {
    const { client, other } = api();
    const ref = { namespace: await api().newNamespace(), name: "a" };
    await client.create(ConfigMap, { metadata: ref });
    const dry = other.dryRun();
    expect(await failure(dry.create(ConfigMap, { metadata: ref }))).toMatchObject({
      reason: "AlreadyExists",
    });
    const patch = { metadata: { resourceVersion: "1" } };
    expect(await failure(dry.mergePatch(ConfigMap, ref, patch))).toMatchObject({ reason: "Conflict" });
    expect(await failure(dry.delete(ConfigMap, ref, { uid: "another" }))).toMatchObject({
      reason: "Conflict",
    });
  });
});
