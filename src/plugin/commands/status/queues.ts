import { messageOf, type Stored } from "kube-controller-runtime";
import type { CoderProvisioner } from "../../../api/v1alpha1/kinds.ts";
import {
  MOST_JOBS,
  type ProvisionerDaemon,
  type ProvisionerJob,
  provisionerDaemons,
  provisionerJobs,
} from "../../../coder/provisioning.ts";
import { daemonTags, servesTags } from "../../../coder/tags.ts";
import type { PersonalCoderd } from "../../coderd.ts";
import type { Gaps } from "../../gaps.ts";

/** The queue of an organization as coderd shows it to the person. */
export interface QueueSight {
  readonly daemons: readonly ProvisionerDaemon[];
  readonly waiting: readonly ProvisionerJob[];
}

/** The queues of the pools' organizations, by their ids; one line says which coderd does not show. */
export async function askQueues(
  pools: readonly Stored<CoderProvisioner>[],
  coderd: PersonalCoderd,
  gaps: Gaps,
): Promise<ReadonlyMap<string, QueueSight>> {
  const ids = new Set(pools.flatMap(({ status }) => status?.organizationID ?? []));
  const queues = new Map<string, QueueSight>();
  await Promise.all(
    [...ids].map(async (id) => {
      try {
        queues.set(id, await askQueue(coderd, `/api/v2/organizations/${encodeURIComponent(id)}`));
      } catch (error) {
        gaps.add(`Busy and idle daemons are not known: ${messageOf(error)}`);
      }
    }),
  );
  return queues;
}

async function askQueue(coderd: PersonalCoderd, organization: string): Promise<QueueSight> {
  const [daemons, waiting] = await Promise.all([
    coderd.get(`${organization}/provisionerdaemons?limit=0`),
    coderd.get(`${organization}/provisionerjobs?status=pending&limit=${MOST_JOBS}`),
  ]);
  return { daemons: provisionerDaemons(daemons, "daemons"), waiting: provisionerJobs(waiting, "jobs") };
}

/** What the daemons of a pool do, and how many builds wait that they could take. */
export function seenIn({ daemons, waiting }: QueueSight, { spec, status }: Stored<CoderProvisioner>) {
  const keys = [status?.provisionerKeyID, ...(status?.retiredKeys ?? []).map(({ id }) => id)];
  const own = daemons.filter(({ keyId }) => keys.includes(keyId));
  const tags = daemonTags(spec?.tags ?? {});
  const count = (state: string) => own.filter((daemon) => daemon.status === state).length;
  const pending = waiting.filter((job) => servesTags(tags, job.tags)).length;
  return { busy: count("busy"), idle: count("idle"), pending };
}
