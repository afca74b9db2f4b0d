import { describe, expect, test } from "vitest";
import { Parent, prepareManager, runManager } from "../test/support/manager-under-test.ts";
import { neverAnswers, offline, silent, when } from "../testing/faulty-transport.ts";
import type { TransportRequest } from "./client/transport.ts";
import { controller } from "./controller/controller.ts";
import { NotLeaderError } from "./errors.ts";
import { LeaderFence } from "./fence.ts";
import { ConfigMap, Lease } from "./kinds.ts";
import type { ManagerObserver, ManagerOptions } from "./manager.ts";
import { awaitChange } from "./queue/action.ts";

const lease = { namespace: "n", name: "lease" };
const leaderElection = { lease, identity: "us" };
const parent = { metadata: { namespace: "n", name: "x" } };
const isOfLease = ({ path }: TransportRequest) => path.includes("/leases/");

/** A controller whose runs take as long as the test requires. */
function slowController(ms: number) {
  const reported: string[] = [];
  const slow = controller("parent")
    .for(Parent)
    .owns([ConfigMap])
    .reconcile(async (_key, { clock, client }) => {
      reported.push("run begins");
      await clock.sleep(ms);
      const outcome = await client
        .mergePatch(Parent, parent.metadata, { metadata: { labels: { run: "over" } } })
        .then(
          () => "has written",
          (error: Error) => `failed with ${error.name}`,
        );
      reported.push(`run ${outcome}`);
      return awaitChange;
    });
  return { slow, reported };
}

/** An observer that records changes of leadership. */
function observing(reported: string[]): Pick<ManagerOptions, "observer"> {
  const observer: ManagerObserver = {
    queue: () => ({ depthFrom() {}, added() {}, retried() {}, started() {}, finished() {} }),
    reconciled: () => reported.push("run counted"),
    watchRestarted: () => {},
    cached: () => {},
    leaseFailed: () => {},
    leading: (isLeader) => reported.push(isLeader ? "leads" : "leads no more"),
  };
  return { observer };
}

test("leadership is renewed through a separate client, if there is one, regardless of the other", async () => {
  const { slow, reported } = slowController(0);
  const client = prepareManager([]).person;
  const world = await runManager([slow], {
    leaderElection: { ...leaderElection, client },
    ...observing(reported),
  });
  world.transport.fault = offline;
  await world.clock.advance(60_000);
  expect(reported).toEqual(["leads"]);
  expect(await client.get(Lease, lease)).toMatchObject({ spec: { holderIdentity: "us" } });
});

describe("the start", () => {
  test("waits for all caches before it requests leadership, and for leadership before the first run", async () => {
    const { slow, reported } = slowController(0);
    const world = prepareManager([slow], { leaderElection, ...observing(reported) });
    await world.person.create(Parent, parent);
    world.transport.fault = when(({ path }) => path.includes("/configmaps"), offline);
    world.start();
    await world.clock.advance(60_000);
    expect(world.manager.unsynced()).toEqual(["configmaps"]);
    expect(world.transport.requests.filter(isOfLease)).toEqual([]);

    world.transport.fault = when(isOfLease, offline);
    await world.clock.advance(60_000);
    expect(world.manager.unsynced()).toEqual([]);
    expect(world.transport.requests.filter(isOfLease).length).toBeGreaterThan(0);
    expect(reported).toEqual([]);

    world.transport.fault = undefined;
    await world.clock.advance(10_000);
    expect(reported).toEqual(["leads", "run begins", "run has written", "run counted"]);
  });

  test("of a standby ends before leadership: its caches follow, and it writes nothing", async () => {
    const { slow, reported } = slowController(0);
    const world = prepareManager([slow], { leaderElection });
    const spec = { holderIdentity: "another", leaseDurationSeconds: 3_600 };
    await world.person.create(Lease, { metadata: lease, spec });
    world.start();
    await world.person.create(Parent, parent);
    await world.clock.advance(60_000);
    expect(world.manager.unsynced()).toEqual([]);
    expect(reported).toEqual([]);
    expect(world.requests().filter((request) => !request.startsWith("get "))).toEqual([]);
    await world.person.mergePatch(Lease, lease, { spec: { holderIdentity: null } });
    await world.clock.advance(2_000);
    expect(reported).toEqual(["run begins", "run has written"]);
  });

  test("of a standby whose watches fell silent acts on what its predecessor has written last", async () => {
    const seen: unknown[] = [];
    const reading = controller("reading")
      .for(Parent)
      .reconcile(async (key, { caches }) => {
        seen.push(caches.of(Parent).get(key)?.status?.seen);
        return awaitChange;
      });
    const world = prepareManager([reading], { leaderElection });
    const spec = { holderIdentity: "another", leaseDurationSeconds: 3_600 };
    await world.person.create(Lease, { metadata: lease, spec });
    await world.person.create(Parent, parent);
    world.start();
    await world.clock.advance(10_000);
    const resumes = ({ path }: TransportRequest) =>
      path.includes("watch=true") && !path.includes("sendInitialEvents");
    world.transport.fault = when(resumes, silent);
    world.transport.cutWatches();
    await world.clock.advance(10_000);
    await world.person.patchStatus(Parent, parent.metadata, { status: { seen: "by another" } });
    await world.person.mergePatch(Lease, lease, { spec: { holderIdentity: null } });
    await world.clock.advance(2_000);
    expect(seen).toEqual(["by another"]);
    expect(world.requests().filter((request) => /^(apply|patch|post) (?!.*leases)/.test(request))).toEqual(
      [],
    );
  });

  test("can be given up while caches are missing or another process leads", async () => {
    const { slow } = slowController(0);
    const unsynced = prepareManager([slow]);
    unsynced.transport.fault = offline;
    unsynced.start();
    await unsynced.clock.advance(1_000);
    expect(await unsynced.stop()).toBeUndefined();

    const standby = prepareManager([slow], { leaderElection });
    const spec = { holderIdentity: "another", leaseDurationSeconds: 3_600 };
    await standby.person.create(Lease, { metadata: lease, spec });
    standby.start();
    await standby.clock.advance(1_000);
    expect(await standby.stop()).toBeUndefined();
    expect((await standby.person.get(Lease, lease)).spec).toEqual(spec);
  });
});

describe("the stop", () => {
  test("finishes a running reconcile as the leader, and starts no other", async () => {
    const { slow, reported } = slowController(4_000);
    const world = await runManager([slow], { leaderElection, concurrency: 1, ...observing(reported) });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    await world.person.create(Parent, { metadata: { namespace: "n", name: "y" } });
    expect(await world.stop()).toBeUndefined();
    expect(reported).toEqual(["leads", "run begins", "run has written", "run counted", "leads no more"]);
  });

  test("ends the runs, then the watches, and gives the Lease back last", async () => {
    const { slow, reported } = slowController(4_000);
    const world = await runManager([slow], { leaderElection });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    world.transport.fault = async (request, pass) => {
      const released = isOfLease(request) && request.body?.includes('"holderIdentity":null');
      if (released) reported.push(`released with ${world.api.openWatches} watches open`);
      return pass();
    };
    await world.stop();
    expect(reported).toEqual(["run begins", "run has written", "released with 0 watches open"]);
    expect(world.api.openWatches).toBe(0);
    expect((await world.person.get(Lease, lease)).spec?.holderIdentity).toBeUndefined();
  });

  test("cuts off a run that takes longer than the grace, which can write nothing more", async () => {
    const { slow, reported } = slowController(30_000);
    const world = await runManager([slow], { leaderElection, shutdownGraceMs: 5_000 });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    let endedAfterMs = 0;
    const stoppedAt = world.clock.now();
    const stopping = world.stop();
    void world.running().then(() => {
      endedAfterMs = world.clock.now() - stoppedAt;
    });
    expect(await stopping).toBeUndefined();
    expect(endedAfterMs).toBe(5_000);
    expect(reported).toEqual(["run begins", "run failed with NotLeaderError"]);
  });

  test("takes no more than six seconds beyond the grace period when the API server stops responding", async () => {
    const { slow } = slowController(60_000);
    const world = await runManager([slow], { leaderElection, shutdownGraceMs: 5_000 });
    await world.person.create(Parent, parent);
    await world.clock.advance(4_000);
    const stoppedAt = world.clock.now();
    world.transport.fault = neverAnswers;
    const ended = world.running().then(() => world.clock.now() - stoppedAt);
    await world.stop();
    expect(await ended).toBeLessThanOrEqual(11_000);
  });

  test("closes the fence for all external requests before the Lease is released", async () => {
    const { slow, reported } = slowController(30_000);
    const fence = new LeaderFence();
    const world = await runManager([slow], { leaderElection, fence });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    fence.assertLeading();
    fence.signal.addEventListener("abort", () => reported.push("fence closed"));
    world.transport.fault = async (request, pass) => {
      if (isOfLease(request) && request.body?.includes('"holderIdentity":null')) reported.push("released");
      return pass();
    };
    await world.stop();
    expect(reported.slice(0, 3)).toEqual(["run begins", "fence closed", "released"]);
    expect(() => fence.assertLeading()).toThrow(NotLeaderError);
  });
});

describe("the loss of leadership", () => {
  test("ends the manager with an error immediately, and active runs write nothing more", async () => {
    const { slow, reported } = slowController(10_000);
    const world = await runManager([slow], { leaderElection, ...observing(reported) });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    const { spec } = await world.person.get(Lease, lease);
    await world.person.mergePatch(Lease, lease, { spec: { ...spec, holderIdentity: "another" } });
    await world.clock.advance(2_000);
    expect(await world.running()).toBeInstanceOf(NotLeaderError);
    expect(reported).toEqual(["leads", "run begins", "leads no more"]);
    await world.clock.advance(10_000);
    expect(reported.at(-2)).toBe("run failed with NotLeaderError");
    expect((await world.person.get(Lease, lease)).spec?.holderIdentity).toBe("another");
  });

  test("ends what a run waits for by the signal of its context, and refuses it every effect", async () => {
    const reported: unknown[] = [];
    const waiting = controller("waiting")
      .for(Parent)
      .reconcile(async (_key, { clock, signal, assertLeading }) => {
        assertLeading();
        await clock.sleep(3_600_000, signal).catch((reason) => reported.push(reason));
        expect(assertLeading).toThrow(NotLeaderError);
        reported.push("refused");
        return awaitChange;
      });
    const world = await runManager([waiting], { leaderElection });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    world.transport.fault = when(isOfLease, offline);
    await world.clock.advance(20_000);
    expect(reported).toEqual([await world.running(), "refused"]);
  });

  test.each(Array.from({ length: 24 }, (_, number) => number + 1))(
    "by a stop at request %i blocks all later writes of all runs",
    async (stopAt) => {
      const busy = controller("busy")
        .for(Parent)
        .reconcile(async (key, { client }) => {
          const name = key.split("/")[1] ?? "";
          for (const data of ["one", "two", "three"])
            await client.apply(ConfigMap, { metadata: { namespace: "n", name }, data: { data } });
          await client.patchStatus(Parent, { namespace: "n", name }, { status: { seen: "all" } });
          return awaitChange;
        });
      const world = await runManager([busy], { leaderElection });
      const passed: string[] = [];
      let requests = 0;
      world.transport.fault = async (request, pass) => {
        if (isOfLease(request)) return pass();
        if (++requests === stopAt) {
          passed.length = 0;
          world.clock.jump(11_000);
        }
        const response = await pass();
        if (request.method !== "GET") passed.push(request.path);
        return response;
      };
      for (let number = 0; number < 6; number++)
        await world.person.create(Parent, { metadata: { namespace: "n", name: `p${number}` } });
      await world.clock.advance(1_000);
      expect(requests).toBeGreaterThanOrEqual(stopAt);
      expect(passed).toEqual([]);
      expect(await world.running()).toBeInstanceOf(NotLeaderError);
    },
  );

  test("that only the fence has noticed ends the manager as well, and the Lease is free", async () => {
    const { slow } = slowController(0);
    const fence = new LeaderFence();
    const world = await runManager([slow], { leaderElection, fence });
    const reason = new NotLeaderError("the clock was ahead for a moment");
    fence.close(reason);
    await world.clock.advance(1_000);
    expect(await world.running()).toBe(reason);
    expect((await world.person.get(Lease, lease)).spec?.holderIdentity).toBeUndefined();
  });

  test("is noticed too while the manager waits for the last runs", async () => {
    const { slow } = slowController(30_000);
    const world = await runManager([slow], { leaderElection, shutdownGraceMs: 25_000 });
    await world.person.create(Parent, parent);
    await world.clock.advance(1_000);
    world.transport.fault = when(isOfLease, offline);
    expect(await world.stop()).toBeInstanceOf(NotLeaderError);
  });
});
