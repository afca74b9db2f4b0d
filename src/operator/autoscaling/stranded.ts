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
  /** Why the pod fails; absent when it is gone. */
  readonly trouble?: string;
}

interface Stranded {
  readonly job: ProvisionerJob;
  readonly pool: Pool;
  readonly daemon: string;
  readonly trouble: string | undefined;
}

/** Finds the jobs of our daemons whose pod is gone or fails: coderd notices only when it has not heard of them for a while. */
function strandedOf(pools: readonly Pool[], { jobs, daemons }: Queue): Stranded[] {
  const byKey = new Map(pools.flatMap((pool) => pool.keyIds.map((id) => [id, pool])));
  const byId = new Map(daemons.map((daemon) => [daemon.id, daemon]));
  return jobs.flatMap((job) => {
    const worker = job.workerId === undefined ? undefined : byId.get(job.workerId);
    const pool = worker && byKey.get(worker.keyId);
    if (!pool) return [];
    const pod = pool.pods.find(({ name }) => name === worker.name);
    if (pod && pod.trouble === undefined) return [];
    return [{ job, pool, daemon: worker.name, trouble: pod?.trouble }];
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
  const podless = new Set(all.filter(({ trouble }) => trouble === undefined).map(({ job }) => job.id));
  const isConfirmed = ({ job, trouble }: Stranded) => trouble !== undefined || before.podless.has(job.id);
  const groups = Map.groupBy(all.filter(isConfirmed), ({ pool, trouble = "" }) => `${pool.name} ${trouble}`);
  return {
    groups: [...groups.values()].flatMap(grouped),
    podless,
    isUnconfirmed: all.some((each) => !isConfirmed(each)),
  };
}

function grouped(all: readonly Stranded[]): StrandedJobs[] {
  const [first] = all.toSorted((a, b) => begunAt(a) - begunAt(b));
  if (!first) return [];
  const { pool, daemon, trouble } = first;
  const told = trouble === undefined ? {} : { trouble };
  return [{ pool: pool.name, count: all.length, since: begunAt(first), daemon, ...told }];
}

function begunAt({ job }: Stranded): number {
  return job.startedAt ?? job.createdAt;
}
