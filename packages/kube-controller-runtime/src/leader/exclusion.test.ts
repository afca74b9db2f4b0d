import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GOOD_NETWORK, LeaseServer, Machine, type Network } from "../../test/support/lease-server.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { silentLog } from "../../testing/stub-client.ts";
import { Leader } from "./leader.ts";

type Fault =
  | { do: "stop"; forMs: number }
  | { do: "suspend"; forMs: number }
  | { do: "setWallClock"; offset: number }
  | { do: "network"; network: Network }
  | { do: "release" }
  | { do: "restart" };

interface Step {
  readonly on: number;
  readonly fault: Fault;
  readonly thenMs: number;
}

interface Candidate {
  readonly machine: Machine;
  readonly leader: Leader;
  readonly identity: string;
}

const MACHINES = 3;
const RUNS = { numRuns: 60 };
const pause = fc.integer({ min: 100, max: 25_000 });
const network: fc.Arbitrary<Network> = fc.record({
  sendMs: fc.integer({ min: 0, max: 6_000 }),
  answerMs: fc.integer({ min: 0, max: 6_000 }),
  fails: fc.constantFrom<Network["fails"]>("no", "no", "beforeServer", "afterServer", "hangs"),
});

const stop = fc.record({ do: fc.constant("stop" as const), forMs: pause });
const cut = fc.record({ do: fc.constant("network" as const), network });
const release = fc.record({ do: fc.constant("release" as const) });
const restart = fc.record({ do: fc.constant("restart" as const) });
const suspend = fc.record({ do: fc.constant("suspend" as const), forMs: pause });
const setWallClock = fc.record({
  do: fc.constant("setWallClock" as const),
  offset: fc.integer({ min: -3_600_000, max: 3_600_000 }),
});

function script(...faults: fc.Arbitrary<Fault>[]): fc.Arbitrary<Step[]> {
  const step = fc.record({
    on: fc.nat({ max: MACHINES - 1 }),
    fault: fc.oneof(...faults),
    thenMs: fc.integer({ min: 0, max: 12_000 }),
  });
  return fc.array(step, { maxLength: 12, size: "max" });
}

/** Several machines that compete for one lease; checks every takeover and every moment. */
class Arena {
  readonly clock = new VirtualClock();
  readonly server = new LeaseServer();
  readonly candidates: Candidate[] = [];
  #started = 0;

  constructor() {
    for (let slot = 0; slot < MACHINES; slot++) this.start(slot);
    this.server.onStore = ({ holderIdentity }) => {
      for (const { identity, leader } of this.candidates)
        if (identity !== holderIdentity) expect(leader.isLeader()).toBe(false);
    };
  }

  start(slot: number): void {
    const machine = new Machine(this.clock, this.server);
    const identity = `${this.#started++}`;
    const leader = new Leader({
      client: machine.client,
      clock: machine,
      random: () => (this.#started % 7) / 7,
      log: silentLog,
      lease: { namespace: "ns", name: "lease" },
      identity,
    });
    leader.acquire(new AbortController().signal).catch(() => {});
    this.candidates[slot] = { machine, leader, identity };
  }

  get leaders(): string[] {
    return this.candidates.filter(({ leader }) => leader.isLeader()).map(({ identity }) => identity);
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.clock.advance(Math.min(500, left));
      expect(this.leaders.length).toBeLessThanOrEqual(1);
    }
  }

  async perform({ on, fault, thenMs }: Step): Promise<void> {
    const { machine, leader } = this.candidates[on] as Candidate;
    if (fault.do === "stop" || fault.do === "suspend") {
      machine.stop();
      await this.advance(fault.forMs);
      if (fault.do === "suspend") machine.suspendedMs += fault.forMs;
      expect(this.leaders.length).toBeLessThanOrEqual(1);
      machine.continue();
    }
    if (fault.do === "setWallClock") machine.wallOffset = fault.offset;
    if (fault.do === "network") machine.network = fault.network;
    if (fault.do === "release") void leader.release();
    if (fault.do === "restart") {
      machine.stop();
      this.start(on);
    }
    await this.advance(thenMs);
  }

  /** Ends all faults and replaces dead machines. */
  heal(): void {
    for (const { machine } of this.candidates) machine.network = GOOD_NETWORK;
    this.start(MACHINES);
  }
}

async function runScript(steps: Step[]): Promise<Arena> {
  const arena = new Arena();
  for (const step of steps) await arena.perform(step);
  return arena;
}

describe("of several candidates", { timeout: 30_000 }, () => {
  it("at most one leads, regardless of failures of processes, networks and wall clocks", async () => {
    const steps = script(stop, cut, release, restart, setWallClock);
    await fc.assert(
      fc.asyncProperty(steps, async (each) => void (await runScript(each))),
      RUNS,
    );
  });

  it("at most one leads when machines are suspended and their wall clocks are right", async () => {
    const steps = script(suspend, cut, release, restart);
    await fc.assert(
      fc.asyncProperty(steps, async (each) => void (await runScript(each))),
      RUNS,
    );
  });

  it("one leads within the lease time and a retry after the last fault", async () => {
    await fc.assert(
      fc.asyncProperty(script(stop, cut, release, restart), async (each) => {
        const arena = await runScript(each);
        arena.heal();
        await arena.advance(15_000 + 12_000 + 2_000);
        expect(arena.leaders).toHaveLength(1);
      }),
      RUNS,
    );
  });
});
