import type { NotLeaderError } from "../../src/errors.ts";
import { Leader } from "../../src/leader/leader.ts";
import { VirtualClock } from "../../testing/clock.ts";
import { silentLog } from "../../testing/stub-client.ts";
import { LeaseServer, Machine } from "./lease-server.ts";

/** A lease, and candidates that start when they are created, each on its own machine. */
export function leaseCandidates() {
  const clock = new VirtualClock();
  const server = new LeaseServer();
  const candidate = (identity: string) => {
    const machine = new Machine(clock, server);
    const warnings: string[] = [];
    const failures: string[] = [];
    const leader = new Leader({
      client: machine.client,
      clock: machine,
      random: () => 0.5,
      log: { ...silentLog, warn: (message: string) => warnings.push(message) },
      onFailure: (reason) => failures.push(reason),
      lease: { namespace: "ns", name: "lease" },
      identity,
    });
    const abort = new AbortController();
    const outcome: { acquired?: true; lost?: NotLeaderError; aborted?: unknown } = {};
    leader.acquire(abort.signal).then(
      () => {
        outcome.acquired = true;
      },
      (error) => {
        outcome.aborted = error;
      },
    );
    void leader.lost.then((error) => {
      outcome.lost = error;
    });
    return { machine, leader, outcome, abort, warnings, failures };
  };
  return { clock, server, candidate };
}
