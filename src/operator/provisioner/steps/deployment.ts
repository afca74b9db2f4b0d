import type { RunContext } from "kube-controller-runtime";
import type { FoundControlPlane } from "../../control-plane/session.ts";
import { convergeDeployment } from "../../pods/converge-deployment.ts";
import { leavePods, type PodChange, type PodReport, podStatus, reportPods } from "../../pods/report.ts";
import type { Snapshot } from "../observe.ts";
import { provisionerDeployment } from "../resources/deployment.ts";
import type { KeyInUse } from "../rollout.ts";
import { conditionTypes } from "../status.ts";
import { type Result, waiting } from "./result.ts";

interface DaemonInputs extends PodChange {
  readonly key: KeyInUse | undefined;
  readonly controlPlane: FoundControlPlane | undefined;
}

/**
 * Keeps the Deployment of the daemons and tells how many are ready. They run with the key in use and at the
 * coderd that it was made for, so a stage that fails before leaves running daemons alone.
 */
export async function ensureDeployment(
  { key, controlPlane, mayChange }: DaemonInputs,
  snapshot: Snapshot,
  context: RunContext,
): Promise<Result<PodReport>> {
  const { provisioner, deployment } = snapshot;
  if (!mayChange) return leavePods(deployment, provisioner, snapshot);
  const image = provisioner.image ?? controlPlane?.settings.image;
  const coderURL = key?.coderURL ?? controlPlane?.url;
  if (!key || !image || !coderURL) {
    if (deployment) return reportPods(deployment, provisioner, snapshot);
    const status = podStatus(undefined, provisioner);
    return { ...waiting(conditionTypes.deployment, "waits for a provisioner key", snapshot), status };
  }
  const inputs = { image, coderURL, key: key.place, keyChecksum: key.checksum };
  const desired = provisionerDeployment(provisioner, inputs);
  const applied = await convergeDeployment(desired, snapshot, context);
  return reportPods(applied, provisioner, snapshot);
}
