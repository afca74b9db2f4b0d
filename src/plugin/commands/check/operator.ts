import { Deployment, Lease, Pod, type Stored } from "kube-controller-runtime";
import { LEASE_NAME, MANAGER_NAME } from "../../../operator/names.ts";
import { podProblem } from "../../../operator/workload/pods/pod-problem.ts";
import { type Cluster, listAll } from "../../cluster.ts";
import type { Gaps } from "../../gaps.ts";
import { leaseNamespaceOf, missingLeasePermissions } from "./permissions.ts";
import { type Finding, finding } from "./report.ts";

/** The label that the chart adds to all objects of the operator itself. */
export const OPERATOR_SELECTOR = `app.kubernetes.io/name=${MANAGER_NAME}`;
export const VERSION_LABEL = "app.kubernetes.io/version";

/** The operator's Deployments in all namespaces, or in the one that the user named. */
export async function findOperators(
  { client }: Cluster,
  gaps: Gaps,
  namespace: string | undefined,
): Promise<Stored<Deployment>[] | undefined> {
  const where =
    namespace === undefined
      ? "all namespaces; set the operator's with --operator-namespace"
      : `namespace "${namespace}"`;
  const reading = listAll(client, Deployment, { namespace, labelSelector: OPERATOR_SELECTOR });
  return gaps.read(`list deployments in ${where}`, reading);
}

/** Whether the operator is installed, runs, and has a leader. */
export async function operatorFindings(
  operator: Stored<Deployment> | undefined,
  cluster: Cluster,
  { gaps, now, version }: { readonly gaps: Gaps; readonly now: number; readonly version: string },
): Promise<Finding[]> {
  if (!operator) {
    const message = `No Deployment has the label ${OPERATOR_SELECTOR}: install the operator's chart.`;
    return [finding("Operator installed", "wrong", message)];
  }
  const [running, leader] = await Promise.all([
    runningFinding(operator, cluster, { gaps, now }),
    leaderFinding(operator, cluster, { gaps, now }),
  ]);
  return [installedFinding(operator, version), running, leader];
}

function installedFinding({ metadata, spec }: Stored<Deployment>, version: string): Finding {
  const image = spec?.template.spec?.containers[0]?.image ?? "no image";
  const own = metadata.labels?.[VERSION_LABEL];
  const differs = own !== undefined && minorOf(own) !== minorOf(version);
  const note = differs ? ` This plugin has version ${version} and may not know newer fields.` : "";
  const message = `Deployment "${metadata.namespace}/${metadata.name}" runs ${image}.${note}`;
  return finding("Operator installed", differs ? "note" : "good", message);
}

function minorOf(version: string): string {
  return version.replace(/^v/, "").split(".").slice(0, 2).join(".");
}

interface Reading {
  readonly gaps: Gaps;
  readonly now: number;
}

async function runningFinding(
  { metadata, spec, status }: Stored<Deployment>,
  { client }: Cluster,
  { gaps, now }: Reading,
): Promise<Finding> {
  const what = "Operator healthy";
  const [wanted, available] = [spec?.replicas ?? 1, status?.availableReplicas ?? 0];
  const numbers = `${available} of ${wanted} replicas are available.`;
  if (wanted > 0 && available >= wanted) return finding(what, "good", numbers);
  const { namespace } = metadata;
  const pods = await gaps.list(client, Pod, { namespace, labelSelector: OPERATOR_SELECTOR });
  const problem = pods?.map((pod) => podProblem(pod, now)).find((each) => each?.kind === "found");
  const why = problem?.kind === "found" ? ` ${problem.message}` : "";
  return finding(what, "wrong", `${numbers}${why}`);
}

async function leaderFinding(
  operator: Stored<Deployment>,
  cluster: Cluster,
  { gaps, now }: Reading,
): Promise<Finding> {
  const what = "Operator leads";
  const { client } = cluster;
  const namespace = leaseNamespaceOf(operator);
  const leases = await gaps.list(client, Lease, { namespace, fieldSelector: `metadata.name=${LEASE_NAME}` });
  if (!leases) return finding(what, "unknown", "The Lease could not be read.");
  const [lease] = leases;
  const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = lease?.spec ?? {};
  const seconds = Math.round((now - Date.parse(renewTime ?? "")) / 1_000);
  const ago = `renewed ${Math.max(0, seconds)}s ago`;
  if (holderIdentity && seconds <= leaseDurationSeconds)
    return finding(what, "good", `"${holderIdentity}" holds the Lease, ${ago}.`);
  const refused = await missingLeasePermissions(operator, cluster, gaps);
  if (refused)
    return finding(what, "wrong", `No replica leads: ${refused}. Update its role with helm upgrade.`);
  const state =
    holderIdentity && renewTime
      ? `The Lease of "${holderIdentity}" has expired, ${ago}`
      : `No replica holds the Lease "${LEASE_NAME}"`;
  return finding(what, "wrong", `${state}: check the operator's log.`);
}
