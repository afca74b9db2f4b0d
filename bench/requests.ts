import type { AuditRequest, ClusterAccess } from "kube-controller-runtime/testing";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];

/** A stretch of time by the clock of this machine, which the API server shares. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** What an operator, ours by default, asked of the API server in a period: each request once, and nothing about its Lease. */
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

/** How many of them change something. */
export function writesAmong(requests: readonly AuditRequest[]): number {
  return requests.filter(({ verb }) => WRITES.includes(verb)).length;
}

/**
 * How many of them change something, apart from what follows from having asked coderd for entitlements so
 * often: each time may put a new date into the status of a control plane.
 */
export function writesBesidesRefreshes(requests: readonly AuditRequest[], refreshes: number): number {
  const ofStatus = requests.filter(
    ({ resource, subresource }) => resource === CoderControlPlane.plural && subresource === "status",
  );
  return writesAmong(requests) - Math.min(writesAmong(ofStatus), refreshes);
}

/** A watch is in the log when it starts and again when it ends; one that was refused only when it ends. */
function isEndOfWatch({ verb, stage, code = 0 }: AuditRequest): boolean {
  return verb === "watch" && stage === "ResponseComplete" && code < 400;
}
