import {
  type Deployment,
  messageOf,
  ReplicaSet,
  type RunContext,
  type Stored,
} from "kube-controller-runtime";

const REVISION = "deployment.kubernetes.io/revision";

/**
 * Returns why the API server rejects pods of the newest template. A Deployment also repeats errors of
 * ReplicaSets with older templates, so the newest one is read. Undefined if there is no error.
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
