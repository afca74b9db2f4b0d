import { inject } from "vitest";
import { ClusterAccess, type ClusterConnection } from "./access.ts";

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
