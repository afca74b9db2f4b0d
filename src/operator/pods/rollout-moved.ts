import { isDeepStrictEqual } from "node:util";
import { type Change, contentChanged, type Deployment, type KubeObject } from "kube-controller-runtime";

interface WithRollout extends KubeObject {
  status?: Deployment["status"];
}

/** Everything that our controllers read of a Deployment's status. */
function rolloutOf({ status = {} }: WithRollout): object {
  const { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas } = status;
  // The times and messages of conditions tick without saying anything new.
  const conditions = status.conditions?.map(({ type, status, reason }) => ({ type, status, reason }));
  return { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas, conditions };
}

/** For Deployments: a tick of the status that changes nothing we read causes no run. */
export function rolloutMoved(change: Change<WithRollout>): boolean {
  const { object, previous } = change;
  if (contentChanged(change) || !previous) return true;
  return !isDeepStrictEqual(rolloutOf(previous), rolloutOf(object));
}
