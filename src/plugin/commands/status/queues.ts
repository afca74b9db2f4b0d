import { messageOf, type Pod, type Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import {
  MAX_JOBS,
  offlineDaemons,
  type ProvisionerDaemon,
  type ProvisionerJob,
  provisionerDaemons,
  provisionerJobs,
} from "../../../coder/provisioning.ts";
import { daemonTags, matchesTags } from "../../../coder/tags.ts";
import { defined } from "../../../operator/normalize.ts";
import { keyIdsOf } from "../../../operator/provisioner/daemon-container.ts";
import { daemonNameOf } from "../../../operator/provisioner/deployment.ts";
import { withDefaults as provisionerOf } from "../../../operator/provisioner/spec.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import type { Gaps } from "../../gaps.ts";

/**
 * The queue of an organization as coderd shows it to the user; fields that coderd does not show are absent.
 */
export interface QueueObservation {
  readonly daemons: readonly ProvisionerDaemon[] | undefined;
  readonly waiting: readonly ProvisionerJob[] | undefined;
}

/** The queues of the pools' organizations, by organization ID; a gap reports what coderd does not show. */
export async function askQueues(
  pools: readonly Stored<CoderProvisioner>[],
  coderd: PersonalCoderd,
  gaps: Gaps,
): Promise<ReadonlyMap<string, QueueObservation>> {
  const ids = new Set(pools.flatMap(({ status }) => status?.organizationID ?? []));
  const asked = [...ids].map(async (id) => {
    return [id, await askQueue(`/api/v2/organizations/${encodeURIComponent(id)}`, coderd, gaps)] as const;
  });
  return new Map(await Promise.all(asked));
}

/** A member of an organization may read its daemons, but not its builds. */
async function askQueue(organization: string, coderd: PersonalCoderd, gaps: Gaps): Promise<QueueObservation> {
  const [daemons, waiting] = await Promise.allSettled([
    coderd
      .get(`${organization}/provisionerdaemons?limit=0`)
      .then((answer) => provisionerDaemons(withoutOffline(answer), "daemons")),
    coderd
      .get(`${organization}/provisionerjobs?status=pending&limit=${MAX_JOBS}`)
      .then((answer) => provisionerJobs(answer, "jobs")),
  ]);
  return {
    daemons: shown(daemons, "Unable to count busy and idle daemons", gaps),
    waiting: shown(waiting, "Unable to count pending builds", gaps),
  };
}

/** Old versions also list offline daemons of the past week, more than are read. */
function withoutOffline(answer: unknown): unknown {
  return Array.isArray(answer) ? answer.filter((row) => !offlineDaemons.isDropped(row)) : answer;
}

function shown<T>(asked: PromiseSettledResult<T>, otherwise: string, gaps: Gaps): T | undefined {
  if (asked.status === "fulfilled") return asked.value;
  gaps.add(`${otherwise}: ${messageOf(asked.reason)}`);
  return undefined;
}

/**
 * What the daemons of a pool do, and how many waiting builds they could take, as far as coderd shows it.
 * coderd lists a daemon for a while after its end: if the pods are known, only daemons whose pod is ready and
 * not terminating count.
 */
export function poolActivity(
  { daemons, waiting }: QueueObservation,
  pool: Stored<CoderProvisioner>,
  steady: readonly Stored<Pod>[] | undefined,
) {
  const keys = keyIdsOf(pool);
  const provisioner = provisionerOf(pool);
  const live = steady && new Set(steady.map((pod) => daemonNameOf(provisioner, pod)));
  const own = daemons?.filter(({ keyId, name }) => keys.includes(keyId) && (live?.has(name) ?? true));
  const tags = daemonTags(provisioner.tags);
  const count = (state: string) => own?.filter((daemon) => daemon.status === state).length;
  const pending = waiting?.filter((job) => matchesTags(tags, job.tags)).length;
  return defined({ busy: count("busy"), idle: count("idle"), pending });
}
