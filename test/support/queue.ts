import type { ProvisionerDaemon, ProvisionerJob, Tags } from "../../src/coder/provisioning.ts";
import { daemonTags } from "../../src/coder/tags.ts";
import type { Pool, PoolPod, Queue } from "../../src/operator/autoscaling/pool.ts";

/** The time of every fixture, in milliseconds. */
export const NOW = 1_000_000_000;

/**
 * What the pods of a pool do, one letter each: `b`usy, `i`dle, `o`ffline, `s`tarted but unknown to coderd, or
 * `w`aiting for a node; a capital letter for a pod that leaves.
 */
type PodStates = string;

interface PoolFixture {
  readonly pool: Pool;
  readonly daemons: readonly ProvisionerDaemon[];
}

const STATES: Readonly<Record<string, string | undefined>> = { b: "busy", i: "idle", o: "offline" };

/** A pool of up to 10 daemons without a delay, and its pods with their daemons at coderd. */
export function poolWithDaemons(crew: PodStates, { tags = {}, ...changes }: Partial<Pool> = {}): PoolFixture {
  const name = changes.name ?? "pool";
  const letters = [...crew];
  const pods = letters.map((letter, index): PoolPod => {
    const pod = {
      name: `${name}-${index}`,
      isTerminating: letter === letter.toUpperCase(),
      isReady: letter !== "w",
    };
    return letter === "w" ? pod : { ...pod, startedAt: NOW - 60_000 };
  });
  const pool: Pool = {
    name,
    tags: daemonTags(tags),
    keyIds: [`key-${name}`],
    min: 0,
    max: 10,
    minIdle: 0,
    scaleDownDelayMs: 0,
    priority: 0,
    fallback: undefined,
    replicas: pods.filter(({ isTerminating }) => !isTerminating).length,
    pods,
    isRollingOut: false,
    keepWarmMs: 0,
    isKeptWarm: false,
    history: [],
    ...changes,
  };
  const daemons = letters.flatMap((letter, index) => {
    const status = STATES[letter.toLowerCase()];
    return status ? [daemon(`${name}-${index}`, status, { keyId: `key-${name}`, tags: pool.tags })] : [];
  });
  return { pool, daemons };
}

export function daemon(
  name: string,
  status: string,
  changes: Partial<ProvisionerDaemon> = {},
): ProvisionerDaemon {
  return {
    id: `daemon-${name}`,
    keyId: "key-of-others",
    name,
    version: "v2.36.1",
    lastSeenAt: NOW,
    tags: daemonTags({}),
    status,
    currentJobId: undefined,
    ...changes,
  };
}

/** Jobs that wait for the given tags, one after the other. */
export function waiting(
  count: number,
  tags: Tags = {},
  changes: Partial<ProvisionerJob> = {},
): ProvisionerJob[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `job-${JSON.stringify(tags)}-${index}`,
    createdAt: NOW - 30_000,
    startedAt: undefined,
    status: "pending",
    type: "workspace_build",
    tags: daemonTags(tags),
    workerId: undefined,
    queuePosition: index + 1,
    ...changes,
  }));
}

export function seen(
  fixtures: readonly PoolFixture[],
  jobs: readonly ProvisionerJob[] = [],
  others: Queue["daemons"] = [],
) {
  const daemons = [...fixtures.flatMap((each) => each.daemons), ...others];
  return { seen: true as const, queue: { jobs, daemons, isCut: false } };
}
