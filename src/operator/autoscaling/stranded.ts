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
  readonly pool: Pool;
  readonly daemon: string;
  readonly end: DaemonEnd;
}

/** Finds the jobs of our daemons that have ended: coderd notices only when it has not heard of a job for a while. */
function strandedOf(pools: readonly Pool[], { jobs, daemons }: Queue): Stranded[] {
  const byKey = new Map(pools.flatMap((pool) => pool.keyIds.map((id) => [id, pool])));
  const byId = new Map(daemons.map((daemon) => [daemon.id, daemon]));
  return jobs.flatMap((job): Stranded[] => {
    const worker = job.workerId === undefined ? undefined : byId.get(job.workerId);
    const pool = worker && byKey.get(worker.keyId);
    if (!pool) return [];
    const pod = pool.pods.find(({ name }) => name === worker.name);
    if (!pod) return [{ job, pool, daemon: worker.name, end: "podGone" }];
    const { trouble, lostBefore = Number.NEGATIVE_INFINITY } = pod;
    if (begunAt(job) >= lostBefore) return [];
    return [{ job, pool, daemon: worker.name, end: trouble === undefined ? "restarted" : { trouble } }];
  });
}

/** What is to be said of them, and what only a second look can confirm. */
export interface StrandedSight {
  readonly groups: readonly StrandedJobs[];
  /** Jobs whose pod is gone, by id: one that ended a moment ago may have finished them. */
  readonly podless: ReadonlySet<string>;
  /** Whether there are some that the look before did not show. */
  readonly isUnconfirmed: boolean;
}

export const noneStranded: StrandedSight = { groups: [], podless: new Set(), isUnconfirmed: false };

export function strandedJobs(pools: readonly Pool[], queue: Queue, before: StrandedSight): StrandedSight {
  const all = strandedOf(pools, queue);
  const podless = new Set(all.filter(({ end }) => end === "podGone").map(({ job }) => job.id));
  const isConfirmed = ({ job, end }: Stranded) => end !== "podGone" || before.podless.has(job.id);
  const groups = Map.groupBy(
    all.filter(isConfirmed),
    ({ pool, end }) => `${pool.name} ${typeof end === "string" ? end : end.trouble}`,
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
  return [{ pool: pool.name, count: all.length, since: begunAt(job), daemon, end }];
}

function begunAt({ startedAt, createdAt }: ProvisionerJob): number {
  return startedAt ?? createdAt;
}
