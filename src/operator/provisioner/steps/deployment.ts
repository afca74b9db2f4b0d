import type { ObservedControlPlane } from "../../control-plane/session/find.ts";
import { convergeDeployment } from "../../pods/converge-deployment.ts";
import { leavePods, type PodChange, type PodReport, podStatus, reportPods } from "../../pods/report.ts";
import type { Environment, Snapshot } from "../observe.ts";
import { provisionerDeployment } from "../resources/deployment.ts";
import type { KeyInUse } from "../rollout.ts";
import { conditionTypes } from "../status.ts";
import { type ProvisionerResult, waiting } from "./result.ts";

interface DaemonInputs extends PodChange {
  readonly key: KeyInUse | undefined;
  readonly controlPlane: ObservedControlPlane | undefined;
}

/**
 * Keeps the Deployment of the daemons and reports how many are ready. They run with the key in use and at the
 * coderd that it was made for, so a stage that fails before leaves running daemons alone.
 */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { key, controlPlane, mayChange }: DaemonInputs,
): Promise<ProvisionerResult<PodReport>> {
  const { provisioner, deployment } = snapshot;
  if (!mayChange) return leavePods(deployment, provisioner, snapshot);
  const image = provisioner.image ?? controlPlane?.settings.image;
  const coderURL = key?.coderURL ?? controlPlane?.url;
  if (!key || !image || !coderURL) {
    if (deployment) return reportPods(deployment, provisioner, snapshot);
    const status = podStatus(undefined, provisioner);
    return { ...waiting(conditionTypes.deployment, "Waiting for a provisioner key.", snapshot), status };
  }
  const inputs = { image, coderURL, key: key.place, keyChecksum: key.checksum };
  const applied = await convergeDeployment(snapshot, environment, provisionerDeployment(provisioner, inputs));
  return reportPods(applied, provisioner, snapshot);
}
