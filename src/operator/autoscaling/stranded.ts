import type { ProvisionerJob } from "../../coder/provisioning.ts";
import type { Pool as AnyPool, Queue } from "./pool.ts";

type Pool = Pick<AnyPool, "name" | "keyIds" | "pods">;

/** Jobs that coderd lists as running on daemons of one pool that have ended for the same reason. */
export interface StrandedJobs {
  readonly pool: string;
  readonly count: number;
  /** Start of the oldest job. */
  readonly since: number;
  /** Name of one of the daemons. */
  readonly daemon: string;
  readonly end: DaemonEnd;
}

/** State of the pod of a daemon that has ended. `problem` is a sentence. */
export type DaemonEnd = "podGone" | "restarted" | { readonly problem: string };

interface Stranded {
  readonly job: ProvisionerJob;
  readonly pool: string;
  readonly daemon: string;
  readonly end: DaemonEnd;
}

/**
 * Finds jobs of daemons that have ended. coderd notices this only after it has received no updates for a
 * while.
 */
function strandedOf(
  pools: readonly Pool[],
  { jobs, daemons }: Queue,
  { places }: StrandedObservation,
): Stranded[] {
  const byKey = new Map(pools.flatMap((pool) => pool.keyIds.map((id) => [id, pool])));
  const byName = new Map(pools.map((pool) => [pool.name, pool]));
  const byId = new Map(daemons.map((daemon) => [daemon.id, daemon]));
  return jobs.flatMap((job): Stranded[] => {
    const worker = job.workerId === undefined ? undefined : byId.get(job.workerId);
    // coderd lists a silent daemon for less time than its job.
    const known = worker ? undefined : places.get(job.id);
    const pool = worker ? byKey.get(worker.keyId) : byName.get(known?.pool ?? "");
    const daemon = worker?.name ?? known?.daemon;
    if (!pool || daemon === undefined) return [];
    const where = { job, pool: pool.name, daemon };
    const pod = pool.pods.find(({ name }) => name === daemon);
    if (!pod) return [{ ...where, end: "podGone" }];
    const { problem, lostBefore = Number.NEGATIVE_INFINITY } = pod;
    if (begunAt(job) >= lostBefore) return [];
    return [{ ...where, end: problem === undefined ? "restarted" : { problem } }];
  });
}

/** Jobs to report, and jobs that the next poll must confirm. */
export interface StrandedObservation {
  readonly groups: readonly StrandedJobs[];
  /** Pool and daemon of each job, by job ID. */
  readonly places: ReadonlyMap<string, Pick<Stranded, "pool" | "daemon">>;
  /**
   * Whether the next poll must confirm a missing pod, because the pod may have finished the job before it
   * ended.
   */
  readonly isUnconfirmed: boolean;
}

export const noStrandedJobs: StrandedObservation = { groups: [], places: new Map(), isUnconfirmed: false };

export function strandedJobs(
  pools: readonly Pool[],
  queue: Queue,
  before: StrandedObservation,
): StrandedObservation {
  const all = strandedOf(pools, queue, before);
  const isConfirmed = ({ job, end }: Stranded) => end !== "podGone" || before.places.has(job.id);
  const groups = Map.groupBy(
    all.filter(isConfirmed),
    ({ pool, end }) => `${pool} ${typeof end === "string" ? end : end.problem}`,
  );
  return {
    groups: [...groups.values()].flatMap(grouped),
    places: new Map(all.map(({ job, pool, daemon }) => [job.id, { pool, daemon }])),
    isUnconfirmed: all.some((each) => !isConfirmed(each)),
  };
}

function grouped(all: readonly Stranded[]): StrandedJobs[] {
  const [first] = all.toSorted((a, b) => begunAt(a.job) - begunAt(b.job));
  if (!first) return [];
  const { pool, daemon, end, job } = first;
  return [{ pool, count: all.length, since: begunAt(job), daemon, end }];
}

function begunAt({ startedAt, createdAt }: ProvisionerJob): number {
  return startedAt ?? createdAt;
}
