import { expect, it } from "vitest";
import { daemon, NOW, poolWithDaemons, seen, waiting } from "../../../test/support/queue.ts";
import type { Tags } from "../../coder/provisioning.ts";
import { daemonTags } from "../../coder/tags.ts";
import { decide } from "./decide.ts";
import { waitCauses } from "./waiting.ts";

/** The limits of the client. */
const [JOBS, DAEMONS] = [1_000, 2_000];
const MAX_TAG_SETS = 100;

const times = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));

/** Idle foreign daemons, and how often the tags of one were read. */
function strangers(tagsOf: (index: number) => Tags) {
  let reads = 0;
  const ownKeys = (tags: Tags) => {
    reads++;
    return Reflect.ownKeys(tags);
  };
  const daemons = times(DAEMONS, (index) =>
    daemon(`s${index}`, "idle", { tags: new Proxy(tagsOf(index), { ownKeys }) }),
  );
  return { daemons, reads: () => reads };
}

it("jobs and free daemons that all differ in their tags are not all compared with each other", () => {
  const jobs = times(JOBS, (index) => waiting(1, { a: `${index}` }, { id: `${index}` })).flat();
  const { daemons, reads } = strangers((index) => daemonTags({ b: `${index}` }));
  decide([], seen([], jobs, daemons), NOW);
  expect(reads()).toBeLessThanOrEqual(JOBS * MAX_TAG_SETS + 2 * DAEMONS);
});

it("equal jobs are compared with equal free daemons once, and each daemon gets one job", () => {
  const { daemons, reads } = strangers((index) => daemonTags(index < JOBS / 2 ? { a: "1" } : { b: "1" }));
  const { assignments } = decide([], seen([], waiting(JOBS, { a: "1" }), daemons), NOW);
  expect(assignments.filter(({ to }) => to === "others")).toHaveLength(JOBS / 2);
  expect(reads()).toBeLessThanOrEqual(2 * DAEMONS + 2);
});

it("the costliest jobs and daemons that fit into coderd's answers are decided upon in milliseconds", () => {
  const differingInTheLast = (count: number, last: string) =>
    Object.fromEntries(times(count, (index) => [`t${index}`, index === count - 1 ? last : ""]));
  const jobs = times(JOBS, (index) =>
    waiting(1, {}, { id: `${index}`, tags: differingInTheLast(40, `${index}`) }),
  ).flat();
  const daemons = times(DAEMONS / 2, (index) =>
    daemon(`s${index}`, "idle", { tags: differingInTheLast(40, `other ${index}`) }),
  );
  const fixtures = times(100, (index) => poolWithDaemons("bi", { name: `p${index}` }));
  const pools = fixtures.map(({ pool }) => pool);
  const observation = seen(fixtures, jobs, daemons);
  const began = process.cpuUsage();
  waitCauses(decide(pools, observation, NOW), { now: NOW, coderdVersion: undefined });
  const { user } = process.cpuUsage(began);
  expect(user / 1_000).toBeLessThan(500);
});
