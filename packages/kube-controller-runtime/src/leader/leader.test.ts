import { describe, expect, it } from "vitest";
import { leaseCandidates } from "../../test/support/lease-candidates.ts";
import { GOOD_NETWORK } from "../../test/support/lease-server.ts";
import { settle } from "../../testing/clock.ts";

describe("acquiring", () => {
  it("creates the lease in the form that client-go reads", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    expect(a.leader.isLeader()).toBe(false);
    await clock.advance(100);
    expect(a.outcome).toEqual({ acquired: true });
    expect(a.leader.isLeader()).toBe(true);
    expect(server.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.010000Z",
      renewTime: "2026-01-01T00:00:00.010000Z",
      leaseTransitions: 0,
    });
  });

  it("renews well before the deadline, keeps the acquire time and counts no transition", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(60_000);
    expect(a.leader.isLeader()).toBe(true);
    expect(server.history.length).toBeGreaterThan(30);
    expect(server.spec).toMatchObject({ acquireTime: "2026-01-01T00:00:00.010000Z", leaseTransitions: 0 });
    expect(server.spec.renewTime).toMatch(/^2026-01-01T00:00:5[89]/);
  });

  it("needs one request per renewal and never more than one in a second", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    const b = candidate("b");
    await clock.advance(600_000);
    expect(a.machine.requests).toBeLessThan(600);
    expect(b.machine.requests).toBeLessThan(600);
  });

  it("without the right to the lease says so once a minute, counts every failure, and leads once it has it", async () => {
    const { clock, server, candidate } = leaseCandidates();
    server.isForbidden = true;
    const a = candidate("a");
    await clock.advance(10 * 60_000);
    expect(new Set(a.warnings)).toEqual(
      new Set(["lease request failed: the server responded with Forbidden"]),
    );
    expect(a.warnings.length).toBeGreaterThanOrEqual(9);
    expect(a.warnings.length).toBeLessThanOrEqual(11);
    expect(new Set(a.failures)).toEqual(new Set(["Forbidden"]));
    expect(a.failures.length).toBeGreaterThan(200);
    server.isForbidden = false;
    await clock.advance(5_000);
    expect(a.leader.isLeader()).toBe(true);
  });

  it("counts requests that are not answered in time as such", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    a.machine.network = { ...GOOD_NETWORK, fails: "hangs" };
    await clock.advance(20_000);
    expect(new Set(a.failures)).toEqual(new Set(["Timeout"]));
  });

  it("elects one of two candidates that start together", async () => {
    const { clock, candidate } = leaseCandidates();
    const [a, b] = [candidate("a"), candidate("b")];
    await clock.advance(60_000);
    expect([a.leader.isLeader(), b.leader.isLeader()].filter(Boolean)).toHaveLength(1);
  });

  it("takes over a dead leader's lease when it has not changed for its duration, counting a transition", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    const b = candidate("b");
    await clock.advance(10_000);
    a.machine.stop();
    await clock.advance(14_000);
    expect(b.leader.isLeader()).toBe(false);
    await clock.advance(4_000);
    expect(b.leader.isLeader()).toBe(true);
    expect(server.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  });

  it("measures expiry by what it saw itself, not by the times in the lease, and leads at once then", async () => {
    const { clock, server, candidate } = leaseCandidates();
    server.create({
      spec: {
        holderIdentity: "from the past",
        leaseDurationSeconds: 15,
        renewTime: "2001-01-01T00:00:00.000000Z",
      },
    });
    const b = candidate("b");
    await clock.advance(14_900);
    expect(b.leader.isLeader()).toBe(false);
    await clock.advance(200);
    expect(b.leader.isLeader()).toBe(true);
  });

  it("waits for as long as the holder's own lease says", async () => {
    const { clock, server, candidate } = leaseCandidates();
    server.create({ spec: { holderIdentity: "slow", leaseDurationSeconds: 60 } });
    const b = candidate("b");
    await clock.advance(59_000);
    expect(b.leader.isLeader()).toBe(false);
    await clock.advance(3_000);
    expect(b.leader.isLeader()).toBe(true);
  });

  it("does not lead immediately when an observed lease is deleted", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    const b = candidate("b");
    await clock.advance(5_000);
    server.lease = undefined;
    await clock.advance(2_000);
    expect(a.outcome.lost?.message).toBe("the lease was deleted");
    expect(b.leader.isLeader()).toBe(false);
    await clock.advance(20_000);
    expect(b.leader.isLeader()).toBe(true);
  });

  it("waits out an API server that does not answer, calmly", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    a.machine.network = { ...GOOD_NETWORK, fails: "beforeServer" };
    await clock.advance(120_000);
    expect(a.machine.requests).toBeLessThan(120);
    a.machine.network = GOOD_NETWORK;
    await clock.advance(2_000);
    expect(a.leader.isLeader()).toBe(true);
  });

  it("rejects when its signal is aborted while it waits", async () => {
    const { clock, candidate } = leaseCandidates();
    candidate("a");
    await clock.advance(100);
    const b = candidate("b");
    await clock.advance(100);
    b.abort.abort(new Error("shutting down"));
    await settle();
    expect(b.outcome.aborted).toEqual(new Error("shutting down"));
  });

  it("does not claim to lead when its machine was suspended past the deadline while it acquired", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(16);
    a.machine.wallOffset = 12_000;
    await clock.advance(100);
    expect(a.outcome.acquired).toBeUndefined();
    await clock.advance(2_000);
    expect(a.outcome.acquired).toBe(true);
    expect(a.leader.isLeader()).toBe(true);
  });
});

describe("releasing", () => {
  it("hands over to a standby within the retry time", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    const b = candidate("b");
    await clock.advance(60_000);
    const released = a.leader.release();
    expect(a.leader.isLeader()).toBe(false);
    await clock.advance(100);
    await released;
    expect(server.history.at(-1)).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(server.history.at(-1)).not.toHaveProperty("holderIdentity");
    await clock.advance(1_900);
    expect(b.leader.isLeader()).toBe(true);
    expect(server.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  });

  it("is not a loss, and leaves no timer behind", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    void a.leader.release();
    await clock.advance(100);
    expect(clock.pending).toBe(0);
    await clock.advance(60_000);
    expect(a.outcome.lost).toBeUndefined();
  });

  it("waits for a running renewal", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    const { requests } = a.machine;
    while (a.machine.requests === requests) await clock.advance(1);
    void a.leader.release();
    await clock.advance(100);
    expect(server.spec).not.toHaveProperty("holderIdentity");
    expect(a.machine.requests).toBe(requests + 2);
  });

  it("works even when the answer to the last renewal was lost", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    a.machine.network = { ...GOOD_NETWORK, fails: "afterServer" };
    await clock.advance(2_000);
    a.machine.network = GOOD_NETWORK;
    void a.leader.release();
    await clock.advance(100);
    expect(server.spec).not.toHaveProperty("holderIdentity");
  });

  it("gives back a lease that was granted while the candidate was stopping", async () => {
    const { clock, server, candidate } = leaseCandidates();
    const a = candidate("a");
    while (!server.lease) await clock.advance(1);
    void a.leader.release();
    await clock.advance(2_000);
    expect(server.history).toHaveLength(2);
    expect(server.spec).not.toHaveProperty("holderIdentity");
    expect(a.outcome.aborted).toMatchObject({ message: "leadership was released" });
    expect(clock.pending).toBe(0);
  });

  it("does not change the lease of another candidate", async () => {
    const { clock, server, candidate } = leaseCandidates();
    candidate("a");
    await clock.advance(100);
    const b = candidate("b");
    await clock.advance(100);
    b.abort.abort();
    await b.leader.release();
    expect(server.spec.holderIdentity).toBe("a");
  });

  it("ends within a bound when the API server does not answer", async () => {
    const { clock, candidate } = leaseCandidates();
    const a = candidate("a");
    await clock.advance(1_000);
    a.machine.network = { ...GOOD_NETWORK, fails: "hangs" };
    await clock.advance(1_000);
    let over = false;
    void a.leader.release().then(() => {
      over = true;
    });
    await clock.advance(5_000);
    expect(over).toBe(true);
  });
});
