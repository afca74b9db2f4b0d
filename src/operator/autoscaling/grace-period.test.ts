import { expect, it } from "vitest";
import { daemon, NOW, waiting } from "../../../test/support/queue.ts";
import { outgrownPools } from "./grace-period.ts";
import type { PoolSource } from "./observe.ts";

const GRACE_SECONDS = 600;

function source(name: string, pods: readonly string[]): PoolSource {
  const pod = { terminationGracePeriodSeconds: GRACE_SECONDS };
  const named = new Map(pods.map((each) => [each, {}]));
  return { pool: { name }, provisioner: { pod }, pods: named } as unknown as PoolSource;
}

const running = (worker: string, seconds: number) =>
  waiting(
    1,
    {},
    {
      id: worker,
      status: "running",
      workerId: `daemon-${worker}`,
      startedAt: NOW - seconds * 1_000,
    },
  );

it("a pool is outgrown once one of its builds runs for longer than its pods are given to end", () => {
  const sources = [source("slow", ["a", "b"]), source("quick", ["c"]), source("idle", ["d"])];
  const daemons = ["a", "b", "c", "d"].map((name) => daemon(name, "busy"));
  const jobs = [...running("b", GRACE_SECONDS + 1), ...running("c", GRACE_SECONDS), ...waiting(1)];
  expect([...outgrownPools(sources, { jobs, daemons }, NOW)]).toEqual(["slow"]);
});
