import {
  awaitChange,
  type Caches,
  type Change,
  ConfigMap,
  type Controller,
  controller,
  Deployment,
  keyOfObject,
  Namespace,
  type ObjectKey,
  Pod,
  type RunContext,
  Secret,
  Service,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { CONTROL_PLANE_INDEX, namedControlPlane } from "../coderd/find-control-plane.ts";
import type { CoderPorts } from "../coderd/ports.ts";
import { managedByUs } from "../managed-objects.ts";
import { namespaceTerminatingSince, namespaceWatch, objectsInNamespace } from "../terminating-namespace.ts";
import {
  POD_OWNER_INDEX,
  podOwnerOfLabels,
  podOwnerOfProvisioner,
  podWatch,
} from "../workload/pods/owned-pods.ts";
import { references } from "./session.ts";
import { type QueueMemory, watchQueues } from "./watch-queues.ts";

/**
 * Polls the queue of each organization with provisioners once for all of them, scales their pools, and
 * reports waiting builds.
 */
export function queueController(ports: CoderPorts): Controller {
  const memories = new Map<ObjectKey, { readonly uid: string; readonly memory: QueueMemory }>();
  return (
    controller("queue")
      .for(CoderControlPlane)
      .watches(CoderControlPlane, (object) => [keyOfObject(object)], { when: accessChanged })
      .watches(CoderProvisioner, (object) => namedControlPlane(object), {
        indexes: {
          [CONTROL_PLANE_INDEX]: namedControlPlane,
          [POD_OWNER_INDEX]: podOwnerOfProvisioner,
        },
        when: poolChanged,
      })
      .watches(Deployment, () => [], managedByUs)
      // Tokens are sent only to Services that the operator can verify.
      .watches(Service, () => [], managedByUs)
      .watches(Secret, () => [], managedByUs)
      .watches(Namespace, objectsInNamespace(CoderControlPlane), namespaceWatch)
      .watches(Pod, controlPlaneOfPod, { ...podWatch, settleMs: 1_000 })
      .refersTo(Secret, references.secrets)
      .refersTo(ConfigMap, references.configMaps)
      .reconcile(async (key, context) => {
        const object = context.caches.of(CoderControlPlane).get(key);
        if (!object || isTerminating(object, context)) {
          memories.delete(key);
          ports.queueObserved?.(key, undefined);
          return awaitChange;
        }
        const known = memories.get(key);
        const memory: QueueMemory = known?.uid === object.metadata.uid ? known.memory : new Map();
        memories.set(key, { uid: object.metadata.uid, memory });
        return watchQueues({ key, object, memory }, { ports, context });
      })
  );
}

/** A failing pod of a provisioner affects the report of waiting and running builds. */
function controlPlaneOfPod(pod: Stored<Pod>, caches: Caches): ObjectKey[] {
  const owners = caches.of(CoderProvisioner).byIndex(POD_OWNER_INDEX, podOwnerOfLabels(pod));
  return owners.flatMap((owner) => namedControlPlane(owner));
}

function isTerminating(object: Stored<CoderControlPlane>, { caches }: RunContext): boolean {
  return (object.metadata.deletionTimestamp ?? namespaceTerminatingSince(object, caches)) !== undefined;
}

/** The operator gained or lost access to coderd. */
function accessChanged({ object, previous }: Change<CoderControlPlane>): boolean {
  return object.status?.operatorAccessReady !== previous?.status?.operatorAccessReady;
}

/** Whether the decision is affected. The numbers in a status change with every decision. */
function poolChanged({ type, object, previous }: Change<CoderProvisioner>): boolean {
  return (
    type !== "updated" ||
    object.metadata.generation !== previous?.metadata.generation ||
    object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp ||
    object.status?.organizationID !== previous?.status?.organizationID
  );
}
