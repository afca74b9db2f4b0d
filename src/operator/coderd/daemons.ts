import type { CoderClient } from "../../coder/client.ts";
import type { ProvisionerDaemon } from "../../coder/provisioning.ts";
import type { Observation, SharedAnswers } from "./shared-answers.ts";

/** A query for daemons, and the maximum age of the result. */
interface DaemonQuestion {
  readonly client: Pick<CoderClient, "provisionerDaemons">;
  readonly url: string;
  readonly token: string;
  readonly organizationId: string;
  readonly maxAgeMs: number;
}

/** The daemons of an organization. */
export type DaemonObservation = Observation<readonly ProvisionerDaemon[]>;

/** Lists the daemons of an organization, once for all its pools and for the queue. */
export function observeDaemons(
  answers: SharedAnswers,
  { client, organizationId, ...question }: DaemonQuestion,
): Promise<DaemonObservation> {
  const ask = () => client.provisionerDaemons(organizationId);
  return answers.ask({ ...question, what: `daemons of ${organizationId}`, ask });
}
