import { describe, expect, it } from "vitest";
import { leaseCandidates } from "../../test/support/lease-candidates.ts";
import { GOOD_NETWORK } from "../../test/support/lease-server.ts";

describe("losing", () => {
  it.each([
    ["refuses connections", "beforeServer"],
    ["loses its answers", "afterServer"],
    ["hangs", "hangs"],
  ] as const)("survives an API server that %s for less than the deadline", async (_, fails) => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(10_000);
    a.machine.network = { ...GOOD_NETWORK, fails };
    await clock.advance(4_000);
    a.machine.network = GOOD_NETWORK;
    await clock.advance(60_000);
    expect(a.outcome.lost).toBeUndefined();
    expect(a.leader.isLeader()).toBe(true);
  });

  it.each(["beforeServer", "afterServer", "hangs"] as const)(
    "is reported at the deadline when every request fails (%s)",
    async (fails) => {
      const { clock, candidate } = leaseCandidates();
      const a = candidate("a");
      await clock.advance(10_000);
      a.machine.network = { ...GOOD_NETWORK, fails };
      await clock.advance(7_000);
      expect(a.outcome.lost).toBeUndefined();
      await clock.advance(3_100);
      expect(a.leader.isLeader()).toBe(false);
      expect(a.outcome.lost?.message).toBe("the lease was not renewed in time");
      expect(a.outcome.lost?.cause).toBeInstanceOf(Error);
    },
  );

  it("is final: a leader that lost its lease does not renew it when the API server is back", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    a.machine.network = { ...GOOD_NETWORK, fails: "beforeServer" };
    await clock.advance(11_000);
    a.machine.network = GOOD_NETWORK;
    const { requests } = a.machine;
    await clock.advance(60_000);
    expect(a.leader.isLeader()).toBe(false);
    expect(a.machine.requests).toBe(requests);
  });

  it("is reported with the name of the candidate who took the lease", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    server.patch({ metadata: server.read().metadata, spec: { holderIdentity: "usurper" } });
    await clock.advance(2_000);
    expect(a.outcome.lost?.message).toBe("the lease was acquired by usurper");
    expect(a.leader.isLeader()).toBe(false);
  });

  it("is not caused by an edit of the lease that keeps its holder", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    server.patch({ metadata: server.read().metadata, spec: {} });
    await clock.advance(20_000);
    expect(a.outcome.lost).toBeUndefined();
    expect(a.leader.isLeader()).toBe(true);
  });
});

describe("a process that was stopped", () => {
  it("does not lead from its first instruction on, when it wakes after the deadline", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(10_000);
    a.machine.stop();
    await clock.advance(20_000);
    expect(a.leader.isLeader()).toBe(false);
    a.machine.continue();
    expect(a.leader.isLeader()).toBe(false);
    await clock.advance(60_000);
    expect(a.leader.isLeader()).toBe(false);
    expect(a.outcome.lost).toBeDefined();
  });

  it("gains nothing from the answer to a request that it sent before", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    const renewals = server.history.length;
    while (server.history.length === renewals) await clock.advance(1);
    a.machine.wallOffset = 20_000;
    await clock.advance(100);
    expect(a.leader.isLeader()).toBe(false);
  });

  it("remains the leader when it wakes well before the deadline", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(10_000);
    a.machine.stop();
    await clock.advance(5_000);
    a.machine.continue();
    await clock.advance(30_000);
    expect(a.leader.isLeader()).toBe(true);
  });

  it("notices a suspended machine by its wall clock, when the monotonic one stood still", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(10_000);
    a.machine.stop();
    await clock.advance(20_000);
    a.machine.suspendedMs = 20_000;
    a.machine.continue();
    expect(a.leader.isLeader()).toBe(false);
  });

  it("notices that it was stopped even if its wall clock was set back", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(10_000);
    a.machine.stop();
    await clock.advance(20_000);
    a.machine.wallOffset = -3_600_000;
    a.machine.continue();
    expect(a.leader.isLeader()).toBe(false);
  });
});
