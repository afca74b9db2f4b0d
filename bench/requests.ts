import type { AuditRequest, ClusterAccess } from "kube-controller-runtime/testing";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];

/** A period by the clock of this machine, which the API server shares. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** An operator's requests to the API server in a period, each counted once, without those for its Lease. */
export async function operatorRequests(
  cluster: ClusterAccess,
  { from, to }: Period,
  user = cluster.operator.user,
): Promise<AuditRequest[]> {
  return (await cluster.auditRequests()).filter(
    (request) =>
      request.user === user &&
      request.resource !== "leases" &&
      request.at >= from &&
      request.at < to &&
      !isEndOfWatch(request),
  );
}

/** The number of writes. */
export function writesAmong(requests: readonly AuditRequest[]): number {
  return requests.filter(({ verb }) => WRITES.includes(verb)).length;
}

/**
 * The number of writes without those that follow from asking coderd for entitlements: each of these may
 * update a date in the status of a control plane.
 */
export function writesBesidesRefreshes(requests: readonly AuditRequest[], refreshes: number): number {
  const ofStatus = requests.filter(
    ({ resource, subresource }) => resource === CoderControlPlane.plural && subresource === "status",
  );
  return writesAmong(requests) - Math.min(writesAmong(ofStatus), refreshes);
}

/** A watch is logged when it starts and when it ends; a rejected one only when it ends. */
function isEndOfWatch({ verb, stage, code = 0 }: AuditRequest): boolean {
  return verb === "watch" && stage === "ResponseComplete" && code < 400;
}
