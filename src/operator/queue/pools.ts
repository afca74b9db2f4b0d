import { Deployment, keyOf, type ObjectKey, type RunContext, type Stored } from "kube-controller-runtime";
import { CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { daemonTags } from "../../coder/tags.ts";
import { CONTROL_PLANE_INDEX } from "../control-plane/session.ts";
import { commonLabels } from "../names.ts";
import { daemonIsNamedByUid } from "../provisioner/resources/deployment.ts";
import { type Provisioner, withDefaults } from "../provisioner/spec.ts";
import { APP_INDEX, appKey, Pod, poolPod } from "./pod.ts";
import type { Pool } from "./pool.ts";

/** The pools of a control plane by the id of their organization. One without a key belongs to none yet. */
export function observePools(controlPlane: ObjectKey, { caches }: RunContext): Map<string, Pool[]> {
  const byOrganization = new Map<string, Pool[]>();
  for (const object of caches.of(CoderProvisioner).byIndex(CONTROL_PLANE_INDEX, controlPlane)) {
    const { organizationID } = object.status ?? {};
    if (!organizationID || object.metadata.deletionTimestamp !== undefined) continue;
    const pools = byOrganization.get(organizationID) ?? [];
    byOrganization.set(organizationID, [...pools, poolOf(object, caches)]);
  }
  return byOrganization;
}

function poolOf(object: Stored<CoderProvisioner>, caches: RunContext["caches"]): Pool {
  const provisioner = withDefaults(object);
  const { name, namespace } = provisioner.identity;
  const deployment = caches.of(Deployment).get(keyOf({ namespace, name: provisioner.childName }));
  const { replicas } = provisioner;
  return {
    name,
    tags: daemonTags(provisioner.tags),
    keyIds: keysOf(object),
    replicas: deployment?.spec?.replicas ?? 0,
    pods: podsOf(provisioner, caches),
    isRollingOut: isRollingOut(deployment),
    ...{ min: replicas, max: replicas, minIdle: 0, scaleDownDelayMs: 0, priority: 0 },
    ...{ fallback: undefined, isKeptWarm: false, history: [] },
  };
}

function keysOf({ status }: Stored<CoderProvisioner>): string[] {
  const retired = (status?.retiredKeys ?? []).map(({ id }) => id);
  return [status?.provisionerKeyID, ...retired].filter((id) => id !== undefined);
}

function podsOf(provisioner: Provisioner, caches: RunContext["caches"]): Pool["pods"] {
  const key = appKey(provisioner.identity.namespace, commonLabels(provisioner));
  const byUid = daemonIsNamedByUid(provisioner);
  return caches
    .of(Pod)
    .byIndex(APP_INDEX, key)
    .map((pod) => poolPod(pod, byUid ? pod.metadata.uid : pod.metadata.name));
}

/** Whether pods of an earlier template are still there. */
function isRollingOut(deployment: Stored<Deployment> | undefined): boolean {
  if (!deployment) return false;
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = deployment.status ?? {};
  return observedGeneration !== deployment.metadata.generation || replicas > updatedReplicas;
}
