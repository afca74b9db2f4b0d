import {
  type Action,
  explain,
  isTransient,
  type KubeObject,
  keyOfObject,
  NotLeaderError,
  type ObjectKey,
  type RunContext,
  requeue,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { failed, type Result as Outcome } from "../../coder/result.ts";
import { releaseGrants } from "../permissions/ensure-workspace-rbac.ts";
import type { CoderdContext } from "./coderd.ts";
import type { Snapshot } from "./observe.ts";
import { CONTROL_PLANE_INDEX, namedControlPlane } from "./session.ts";
import { mayHoldToken, revokeToken } from "./steps/revocation.ts";

/** So long provisioners and proxies may use the operator's token to clean up behind themselves. */
const MOST_WAIT_MS = 60_000;

type Caches = RunContext["caches"];

/**
 * Removes what is outside of the namespace and, when the control plane is being deleted, revokes the operator's
 * token once nobody needs it any more. Best effort: what can't be revoked is logged and counted, and holds nothing
 * up.
 */
export async function cleanUp(snapshot: Snapshot, environment: CoderdContext): Promise<Action | undefined> {
  await releaseGrants(snapshot.grants, environment.context);
  const { deletionTimestamp } = snapshot.object.metadata;
  if (!deletionTimestamp || !mayHoldToken(snapshot.object)) return undefined;
  const waitMs = Date.parse(`${deletionTimestamp}`) + MOST_WAIT_MS - snapshot.now;
  if (waitMs > 0 && hasDependents(snapshot.object, environment.context.caches))
    return requeue(Math.min(waitMs, MOST_WAIT_MS));
  const ended = await endToken(snapshot, environment);
  if (!ended.ok) {
    environment.context.log.warn("operator token was left behind", { problem: ended.failure });
    environment.ports.tokenLeftBehind?.();
  }
  return undefined;
}

/** Fails with why the token stays. When the API server does not answer it throws, so the deletion is retried. */
async function endToken(snapshot: Snapshot, environment: CoderdContext): Promise<Outcome<void, string>> {
  try {
    const revoked = await revokeToken({ snapshot, environment, serving: true });
    return revoked.ok ? revoked : failed(revoked.failure.message);
  } catch (error) {
    if (error instanceof NotLeaderError || isTransient(error)) throw error;
    return failed(explain(error).message);
  }
}

function hasDependents(object: Stored<CoderControlPlane>, caches: Caches): boolean {
  const key = keyOfObject(object);
  return (
    caches.of(CoderProvisioner).byIndex(CONTROL_PLANE_INDEX, key).length > 0 ||
    caches.of(CoderWorkspaceProxy).byIndex(CONTROL_PLANE_INDEX, key).length > 0
  );
}

/** For `watches`: the control plane that an object names, if its deletion may be waiting for that object to go. */
export function endingControlPlane(dependent: Stored<KubeObject>, caches: Caches): ObjectKey[] {
  const controlPlanes = caches.of(CoderControlPlane);
  return namedControlPlane(dependent).filter((key) => controlPlanes.get(key)?.metadata.deletionTimestamp);
}
