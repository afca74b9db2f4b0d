import { ClusterAccess, type ClusterConnection } from "kube-controller-runtime/testing";
import { inject } from "vitest";
import { askRun } from "../run/request-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    cluster: ClusterConnection;
  }
}

/**
 * The one cluster all test files of a run share, with the operator's CRDs and role installed, audit
 * on and no controller manager. Take a namespace of your own in it; who breaks things starts one
 * with `startCluster`.
 */
export function sharedCluster(): ClusterAccess {
  return new ClusterAccess(inject("cluster"));
}

/** The other shared cluster, with a controller manager: for rollouts, garbage collection and the end of namespaces. */
export async function sharedClusterWithControllers(): Promise<ClusterAccess> {
  return new ClusterAccess((await askRun("POST", "clusters")) as ClusterConnection);
}
