import {
  type Action,
  type Caches,
  explain,
  isTransient,
  type KubeObject,
  NotLeaderError,
  type ObjectKey,
  requeue,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane } from "../../api/v1alpha1/kinds.ts";
import { USERNAME } from "../../coder/operator-access/account.ts";
import { namedControlPlane } from "../coderd/find-control-plane.ts";
import { namespaceTerminatingSince } from "../terminating-namespace.ts";
import { selectsOwnPods } from "../workload/exposure/service.ts";
import { releaseGrants } from "../workload/rbac/ensure-workspace-rbac.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { knowsToken, mayHoldToken, revokeToken } from "./token/revoke.ts";

/** Time for provisioners and proxies to clean up with the operator's token. */
const MAX_WAIT_MS = 60_000;

/**
 * Deletes objects in other namespaces and, if the control plane is being deleted, revokes the operator's
 * token when it is no longer needed. Best effort: a token that cannot be revoked is logged and counted, and
 * never blocks the deletion.
 */
export async function cleanUp(snapshot: Snapshot, environment: Environment): Promise<Action | undefined> {
  await releaseGrants(snapshot, environment);
  const { deletionTimestamp } = snapshot.object.metadata;
  if (!deletionTimestamp || !mayHoldToken(snapshot.object)) return undefined;
  const waitMs = Date.parse(`${deletionTimestamp}`) + MAX_WAIT_MS - snapshot.now;
  if (waitMs > 0 && snapshot.hasDependents) return requeue(Math.min(waitMs, MAX_WAIT_MS));
  const hadToken = knowsToken({ snapshot, environment });
  const problem = await endToken(snapshot, environment);
  if (hadToken) reportEnd(environment, problem);
  return undefined;
}

function reportEnd({ log, own, ports }: Environment, problem: string | undefined): void {
  if (problem === undefined) {
    const message = `Revoked the operator's token. The user "${USERNAME}" remains in coderd and cannot log in.`;
    own.emit("Normal", "TokenRevoked", message);
    return;
  }
  log.warn("failed to revoke operator token", { problem });
  ports.tokenOrphaned?.();
  const message = `The operator's token was not revoked; delete the tokens of user "${USERNAME}" in coderd. ${problem}`;
  own.emit("Warning", "TokenNotRevoked", message);
}

/**
 * Resolves with the reason if the token could not be revoked. Throws if the API server is unavailable,
 * because the finalizer cannot be removed either.
 */
async function endToken(snapshot: Snapshot, environment: Environment): Promise<string | undefined> {
  try {
    const serviceSelectsPods = selectsOwnPods(snapshot.controlPlane, snapshot.service);
    const left = await revokeToken({
      snapshot,
      environment,
      serviceSelectsPods,
      isServing: serviceSelectsPods,
      tenancy: {},
    });
    return left?.failure.message;
  } catch (error) {
    if (error instanceof NotLeaderError || isTransient(error)) throw error;
    return explain(error).message;
  }
}

/** For `watches`: the control plane of an object, if its deletion may be waiting for that object. */
export function terminatingControlPlane(dependent: Stored<KubeObject>, caches: Caches): ObjectKey[] {
  const controlPlanes = caches.of(CoderControlPlane);
  return namedControlPlane(dependent).filter((key) => {
    const controlPlane = controlPlanes.get(key);
    if (!controlPlane) return false;
    return (
      (controlPlane.metadata.deletionTimestamp ?? namespaceTerminatingSince(controlPlane, caches)) !==
      undefined
    );
  });
}
