import { type Deployment, Lease, type Stored } from "kube-controller-runtime";
import { LEASE_NAME } from "../../../operator/names.ts";
import type { Cluster } from "../../cluster.ts";
import { Gaps } from "../../gaps.ts";
import type { Problem } from "../../problems.ts";
import { findOperators } from "./operator.ts";

/** Longer than a Lease lasts and than a new leader takes to acquire it. */
const LEADERLESS_MS = 30_000;

/**
 * Whether no operator reconciles the objects of the cluster, and why. Absent if one does, or if the user may
 * not read its Deployment: `check` reports what could not be read.
 */
export async function operatorProblem(cluster: Cluster): Promise<Problem | undefined> {
  const unread = new Gaps();
  const leased = { namespace: undefined, fieldSelector: `metadata.name=${LEASE_NAME}` };
  const [operators, leases] = await Promise.all([
    findOperators(cluster, unread, undefined),
    unread.list(cluster.client, Lease, leased),
  ]);
  const now = cluster.now();
  if (!operators || leases?.some(({ spec }) => now - Date.parse(`${spec?.renewTime}`) <= LEADERLESS_MS))
    return undefined;
  const [first] = operators;
  if (!first) {
    const message =
      "No Deployment of the operator exists, so nothing reconciles these objects. Install its chart.";
    return problem("NotInstalled", message);
  }
  const { namespace, name } = first.metadata;
  const none = `No replica of Deployment "${namespace}/${name}"`;
  const advice = "so nothing reconciles these objects. Run: kubectl coder check";
  if (operators.every(isDown)) return problem("NotRunning", `${none} is available, ${advice}`);
  if (!leases || operators.some(isAlone)) return undefined;
  return problem("NoLeader", `${none} holds the Lease "${LEASE_NAME}", ${advice}`);
}

function isDown({ status }: Stored<Deployment>): boolean {
  return (status?.availableReplicas ?? 0) === 0;
}

/** An operator without leader election has no Lease. */
function isAlone({ spec }: Stored<Deployment>): boolean {
  const containers = spec?.template.spec?.containers ?? [];
  return containers.some(({ args = [] }) => args.includes("--no-leader-elect"));
}

function problem(reason: string, message: string): Problem {
  return { severity: "wrong", object: "operator", condition: "Operator", reason, message };
}
