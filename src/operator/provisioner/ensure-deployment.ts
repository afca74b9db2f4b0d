import type { Deployment } from "kube-controller-runtime";
import { type CoderdAddress, daemonAddress } from "../coderd/address.ts";
import type { FoundControlPlane } from "../coderd/find-control-plane.ts";
import { followedImage, followerKey } from "../upgrade/followers.ts";
import { convergeDeployment } from "../workload/converge-deployment.ts";
import { isSameService } from "../workload/exposure/service.ts";
import { aliasesFor } from "../workload/host-aliases.ts";
import {
  type PodChange,
  type PodReport,
  podStatus,
  reportPods,
  reportUnchangedPods,
} from "../workload/pods/report.ts";
import { isSameTemplate } from "../workload/pods/rollout.ts";
import {
  clusterIPBehind,
  isHeldBack,
  type KeyInUse,
  provisionerDeployment,
  runningChecksum,
  urlVariable,
} from "./deployment.ts";
import type { Environment, Snapshot } from "./observe.ts";
import { conditionTypes, type ProvisionerResult, waiting } from "./status.ts";

interface DaemonInputs extends PodChange {
  readonly key: KeyInUse | undefined;
  readonly controlPlane: FoundControlPlane | undefined;
}

/**
 * Applies the Deployment of the daemons and reports how many are ready. They use the current key and the
 * coderd that it was created for, so an earlier failing stage does not affect running daemons.
 */
export async function ensureDeployment(
  snapshot: Snapshot,
  environment: Environment,
  { key, controlPlane, mayChange }: DaemonInputs,
): Promise<ProvisionerResult<PodReport>> {
  const { provisioner, deployment } = snapshot;
  if (!mayChange) return reportUnchangedPods(deployment, provisioner, snapshot);
  const turn = followerKey("provisioner", provisioner.identity.name);
  const image = provisioner.image ?? (controlPlane && followedImage(controlPlane, turn));
  const address = key && coderdAddress(key, controlPlane, { snapshot, environment });
  if (!key || !image || !address) {
    if (deployment) return reportPods(deployment, provisioner, snapshot);
    const status = podStatus(undefined, provisioner);
    return { ...waiting(conditionTypes.deployment, "Waiting for a provisioner key.", snapshot), status };
  }
  const observed = snapshot.controlPlanes.get(provisioner.controlPlaneName ?? "");
  const clusterIP = observed?.clusterIP ?? clusterIPBehind(deployment);
  const running = isHeldBack(key, deployment) ? runningChecksum(deployment) : undefined;
  const inputs = {
    image,
    coderURL: address.url,
    hostAliases: isUserURL(snapshot) ? [] : address.hostAliases,
    clusterIP,
    key: key.place,
    keyChecksum: running ?? key.checksum,
  };
  const wanted = { desired: provisionerDeployment(provisioner, inputs), pod: provisioner.pod };
  const applied = await convergeDeployment(snapshot, environment, wanted);
  const isSame = isSameTemplate(deployment, applied, snapshot.object.status?.conditions);
  return reportPods(applied, provisioner, { ...snapshot, isSameTemplate: isSame });
}

/**
 * Daemons connect to the coderd that their key was created for. If its address is unknown, they keep the
 * previous one.
 */
function coderdAddress(
  { coderURL }: KeyInUse,
  controlPlane: FoundControlPlane | undefined,
  { snapshot, environment }: { readonly snapshot: Snapshot; readonly environment: Environment },
): CoderdAddress | undefined {
  const isElsewhere = coderURL !== undefined && !isSameService(coderURL, controlPlane?.url);
  if (controlPlane && isElsewhere) return { url: coderURL, hostAliases: [] };
  const { clusterDomain } = environment.ports;
  const address = controlPlane && daemonAddress(controlPlane, snapshot.sources, clusterDomain);
  const url = coderURL ?? controlPlane?.url;
  return address ?? addressOf(snapshot.deployment) ?? (url ? { url, hostAliases: [] } : undefined);
}

/** A URL in spec.extraEnv is resolved by DNS. */
function isUserURL({ provisioner }: Snapshot): boolean {
  return provisioner.pod.extraEnv.some(({ name }) => name === urlVariable);
}

function addressOf(deployment: Deployment | undefined): CoderdAddress | undefined {
  const { containers = [] } = deployment?.spec?.template.spec ?? {};
  const url = containers[0]?.env?.find(({ name }) => name === urlVariable)?.value;
  return url ? { url, hostAliases: aliasesFor(url, deployment) } : undefined;
}
