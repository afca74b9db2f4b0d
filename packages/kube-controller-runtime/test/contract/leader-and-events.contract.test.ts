import { awaitChange, ConfigMap, CoreEvent, finalizer, Lease, systemClock } from "kube-controller-runtime";
import { eventually, silentLog } from "kube-controller-runtime/testing";
import { expect, it } from "vitest";
import { ClusterEventRecorder } from "../../src/events.ts";
import { Leader } from "../../src/leader/leader.ts";
import { type ApiUnderTest, contract } from "./api-under-test.ts";

const TIME_LIMIT = { withinMs: 20_000 };
const environment = { clock: systemClock, random: Math.random, log: silentLog };

contract("what the runtime writes on its own", (api) => {
  const candidate = (namespace: string, identity: string) =>
    new Leader({ ...environment, client: api().client, lease: { namespace, name: "lease" }, identity });
  const leaseIn = async (namespace: string) =>
    (await api().other.get(Lease, { namespace, name: "lease" })).spec;

  it("a lease is created, renewed, released and taken over", async () => {
    const namespace = await api().newNamespace();
    const [first, second] = [candidate(namespace, "first"), candidate(namespace, "second")];
    const { signal } = new AbortController();
    await first.acquire(signal);
    const acquired = await leaseIn(namespace);
    expect(acquired).toMatchObject({
      holderIdentity: "first",
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
    });
    const standby = second.acquire(signal);
    await eventually(
      async () => expect((await leaseIn(namespace))?.renewTime).not.toBe(acquired?.renewTime),
      TIME_LIMIT,
    );
    expect([first.isLeader(), second.isLeader()]).toEqual([true, false]);

    await first.release();
    await standby;
    expect(await leaseIn(namespace)).toMatchObject({ holderIdentity: "second", leaseTransitions: 1 });
    await second.release();
    expect(await leaseIn(namespace)).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 1 });
    expect((await leaseIn(namespace))?.holderIdentity).toBeUndefined();
  });

  it("an event is created and its repetitions are counted, with times that the server takes", async () => {
    const { recorder, object, events } = await newRecorder(api());
    const happens = () =>
      recorder.event(object, { type: "Warning", reason: "Blocked", message: "Secret x is missing" });
    happens();
    await eventually(async () => expect(await events()).toHaveLength(1), TIME_LIMIT);
    happens();
    happens();
    await recorder.flush(20_000);
    expect(await events()).toMatchObject([
      { type: "Warning", reason: "Blocked", message: "Secret x is missing", count: 3 },
    ]);
  });

  it("an event about an object with the longest name is taken", async () => {
    const { recorder, object, events } = await newRecorder(api(), "x".repeat(253));
    recorder.event(object, { type: "Normal", reason: "Created", message: "created" });
    await recorder.flush(5_000);
    expect(await events()).toHaveLength(1);
  });

  it("a finalizer keeps an object until its cleanup is done", async () => {
    const { client, newNamespace } = api();
    const ref = { namespace: await newNamespace(), name: "x" };
    const object = await client.create(ConfigMap, { metadata: ref });
    const calls: string[] = [];
    const run = async () =>
      finalizer(client, "example.com/cleanup", {
        kind: ConfigMap,
        object: await client.get(ConfigMap, ref),
        wanted: true,
        apply: async () => {
          calls.push("apply");
          return awaitChange;
        },
        cleanup: async () => void calls.push("cleanup"),
      });
    await run();
    expect(await client.delete(ConfigMap, ref, { uid: object.metadata.uid })).toBeDefined();
    await run();
    expect(calls).toEqual(["apply", "cleanup"]);
    await expect(client.get(ConfigMap, ref)).rejects.toMatchObject({ reason: "NotFound" });
  });
});

async function newRecorder(api: ApiUnderTest, name = "x") {
  const namespace = await api.newNamespace();
  const object = await api.other.create(ConfigMap, { metadata: { namespace, name } });
  const reporter = { component: "contract", instance: "test" };
  const recorder = new ClusterEventRecorder({ ...environment, client: api.client, ...reporter });
  const events = async () => (await api.other.list(CoreEvent, { namespace })).items;
  return { recorder, object, events };
}
