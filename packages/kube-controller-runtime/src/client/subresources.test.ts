import { expect, test } from "vitest";
import { VirtualClock } from "../../testing/clock.ts";
import { FakeApi } from "../../testing/fake-api/fake-api.ts";
import { answers, FaultyTransport, times, when } from "../../testing/faulty-transport.ts";
import { ConfigMap, Deployment, Pod, PodEviction, scaleOf } from "../kinds.ts";
import { resourceName } from "../object.ts";
import { isNotFound } from "./error.ts";
import { type FinishedRequest, HttpClient } from "./http-client.ts";

const ref = { namespace: "n", name: "a" };

function setUp() {
  const clock = new VirtualClock();
  const transport = new FaultyTransport(new FakeApi(clock));
  const requests: FinishedRequest[] = [];
  const onRequest = (request: FinishedRequest) => void requests.push(request);
  const client = new HttpClient({ transport, clock, fieldManager: "me", userAgent: "unit/1", onRequest });
  return { clock, transport, client, requests };
}

test("a scale is read and written under the name of its object", async () => {
  const { client, requests } = setUp();
  await client.create(Deployment, { metadata: ref, spec: { replicas: 1, selector: {}, template: {} } });
  const Scale = scaleOf(Deployment);
  expect((await client.get(Scale, ref)).spec).toEqual({ replicas: 1 });
  await client.mergePatch(Scale, ref, { spec: { replicas: 3 } });
  expect((await client.get(Deployment, ref)).spec?.replicas).toBe(3);
  expect(requests.map(({ verb, resource }) => `${verb} ${resource}`)).toContain(
    "patch deployments.apps/scale",
  );
});

test("an eviction that a budget forbids delays no other request", async () => {
  const { client, transport } = setUp();
  await client.create(Pod, { metadata: ref });
  const body = JSON.stringify({ kind: "Status", reason: "TooManyRequests", message: "budget", code: 429 });
  const isEviction = when(
    ({ path }) => path.endsWith("/eviction?fieldManager=me"),
    answers(429, { "retry-after": "10" }, body),
  );
  transport.fault = isEviction;
  await expect(client.create(PodEviction, { metadata: ref })).rejects.toMatchObject({ code: 429 });
  // Time does not advance: a request that had to wait would never get a response.
  expect((await client.get(Pod, ref)).metadata.name).toBe("a");
  transport.fault = undefined;
  await client.create(PodEviction, { metadata: ref });
  await expect(client.get(Pod, ref)).rejects.toSatisfy(isNotFound);
});

test("a subresource can't be listed", async () => {
  const { client } = setUp();
  await expect(client.list(scaleOf(Deployment))).rejects.toThrow("deployments.apps/scale is a subresource");
  expect(resourceName(PodEviction)).toBe("pods/eviction");
});

test("a dry run answers as if it had been stored, and stores nothing", async () => {
  const { client } = setUp();
  const dry = client.dryRun();
  expect(await dry.create(ConfigMap, { metadata: ref, data: { a: "1" } })).toMatchObject({
    data: { a: "1" },
  });
  await expect(client.get(ConfigMap, ref)).rejects.toSatisfy(isNotFound);
  await client.create(ConfigMap, { metadata: ref, data: { a: "1" } });
  expect(await dry.mergePatch(ConfigMap, ref, { data: { a: "2" } })).toMatchObject({ data: { a: "2" } });
  expect(await dry.apply(ConfigMap, { metadata: ref, data: { b: "3" } })).toMatchObject({ data: { b: "3" } });
  await dry.delete(ConfigMap, ref);
  expect(await client.get(ConfigMap, ref)).toMatchObject({ data: { a: "1" } });
});

test("a request reports its resource and how long the answer took, a pause not included", async () => {
  const { clock, client, transport, requests } = setUp();
  await client.create(ConfigMap, { metadata: ref });
  transport.fault = times(1, async (_, pass) => {
    await clock.sleep(250);
    return pass();
  });
  const read = client.get(ConfigMap, ref);
  await clock.advance(1_000);
  await read;
  expect(requests.at(-1)).toEqual({ verb: "get", resource: "configmaps", code: 200, durationMs: 250 });
});
