import type { ProvisionerJob } from "../../coder/provisioning.ts";
import type { Pool as AnyPool, Queue } from "./pool.ts";

type Pool = Pick<AnyPool, "name" | "keyIds" | "pods">;

/** Jobs that coderd has running on daemons of one pool, which have ended for the same reason. */
export interface StrandedJobs {
  readonly pool: string;
  readonly count: number;
  /** When the oldest was begun. */
  readonly since: number;
  /** One of the daemons by name. */
  readonly daemon: string;
  readonly end: DaemonEnd;
}

/** What has become of the pod of a daemon that has ended: why it fails is a sentence. */
export type DaemonEnd = "podGone" | "restarted" | { readonly trouble: string };

interface Stranded {
  readonly job: ProvisionerJob;
  readonly pool: string;
  readonly daemon: string;
  readonly end: DaemonEnd;
}

/** Finds the jobs of our daemons that have ended: coderd notices only when it has not heard of a job for a while. */
function strandedOf(
  pools: readonly Pool[],
  { jobs, daemons }: Queue,
  { podless }: StrandedSight,
): Stranded[] {
  const byKey = new Map(pools.flatMap((pool) => pool.keyIds.map((id) => [id, pool])));
  const byId = new Map(daemons.map((daemon) => [daemon.id, daemon]));
  return jobs.flatMap((job): Stranded[] => {
    const worker = job.workerId === undefined ? undefined : byId.get(job.workerId);
    const pool = worker && byKey.get(worker.keyId);
    // coderd no longer lists a daemon that it has not heard of for a while, and has the job running for longer.
    const known = worker ? undefined : podless.get(job.id);
    if (known) return [{ job, ...known, end: "podGone" }];
    if (!pool) return [];
    const pod = pool.pods.find(({ name }) => name === worker.name);
    const where = { job, pool: pool.name, daemon: worker.name };
    if (!pod) return [{ ...where, end: "podGone" }];
    const { trouble, lostBefore = Number.NEGATIVE_INFINITY } = pod;
    if (begunAt(job) >= lostBefore) return [];
    return [{ ...where, end: trouble === undefined ? "restarted" : { trouble } }];
  });
}

/** What is to be said of them, and what only a second look can confirm. */
export interface StrandedSight {
  readonly groups: readonly StrandedJobs[];
  /** Jobs whose pod is gone, by id, with its pool and daemon: one that ended a moment ago may have finished them. */
  readonly podless: ReadonlyMap<string, Pick<Stranded, "pool" | "daemon">>;
  /** Whether there are some that the look before did not show. */
  readonly isUnconfirmed: boolean;
}

export const noneStranded: StrandedSight = { groups: [], podless: new Map(), isUnconfirmed: false };

export function strandedJobs(pools: readonly Pool[], queue: Queue, before: StrandedSight): StrandedSight {
  const all = strandedOf(pools, queue, before);
  const gone = all.filter(({ end }) => end === "podGone");
  const podless = new Map(gone.map(({ job, pool, daemon }) => [job.id, { pool, daemon }]));
  const isConfirmed = ({ job, end }: Stranded) => end !== "podGone" || before.podless.has(job.id);
  const groups = Map.groupBy(
    all.filter(isConfirmed),
    ({ pool, end }) => `${pool} ${typeof end === "string" ? end : end.trouble}`,
  );
  return {
    groups: [...groups.values()].flatMap(grouped),
    podless,
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
