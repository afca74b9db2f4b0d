import {
  type Deployment,
  messageOf,
  ReplicaSet,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";

const REVISION = "deployment.kubernetes.io/revision";

/**
 * Why the API server refuses pods of the newest template, in its own words. A Deployment repeats what any of its ReplicaSets
 * says, those of older templates too, so the newest is asked. Undefined when it does not complain.
 */
export async function observeRefusal(
  deployment: Stored<Deployment> | undefined,
  { client, log }: Pick<RunContext, "client" | "log">,
): Promise<string | undefined> {
  const failure = failureOf(deployment);
  if (!deployment || failure === undefined) return undefined;
  const { namespace, name, uid, annotations } = deployment.metadata;
  const { matchLabels = {} } = deployment.spec?.selector ?? {};
  const labelSelector = Object.entries(matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join();
  try {
    const { items } = await client.list(ReplicaSet, { namespace, labelSelector });
    const own = items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
    const newest = own.find(({ metadata }) => metadata.annotations?.[REVISION] === annotations?.[REVISION]);
    return newest ? failureOf(newest) : failure;
  } catch (error) {
    log.warn("failed to list ReplicaSets", { deployment: name, problem: messageOf(error) });
    return failure;
  }
}

function failureOf(object: Pick<Deployment, "status"> | ReplicaSet | undefined): string | undefined {
  const failure = object?.status?.conditions?.find(({ type }) => type === "ReplicaFailure");
  return failure?.status === "True" ? (failure.message ?? "") : undefined;
}
