import {
  awaitChange,
  type Change,
  type Controller,
  controller,
  Deployment,
  keyOfObject,
  type ObjectKey,
  Secret,
  type Stored,
} from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../api/v1alpha1/kinds.ts";
import { namedControlPlane, sessionSecrets } from "../control-plane/session.ts";
import { managedByUs } from "../names.ts";
import type { CoderPorts } from "../ports.ts";
import type { Looks } from "./look.ts";
import { APP_INDEX, appKey, Pod, slimPod } from "./pod.ts";
import { watchQueues } from "./watch-queues.ts";

/** Looks at the queue of each organization that has provisioners, once for all of them, and reports builds that wait. */
export function queueController(ports: CoderPorts): Controller {
  const memories = new Map<ObjectKey, { readonly uid: string; readonly memory: Map<string, Looks> }>();
  const indexes = {
    [APP_INDEX]: ({ metadata }: Stored<Pod>) => [appKey(metadata.namespace, metadata.labels)],
  };
  return controller("queue")
    .for(CoderControlPlane)
    .watches(CoderControlPlane, (object) => [keyOfObject(object)], { when: accessChanged })
    .watches(CoderProvisioner, (object) => namedControlPlane(object))
    .watches(Deployment, () => [], managedByUs)
    .watches(Pod, () => [], { labelSelector: managedByUs.labelSelector, transform: slimPod, indexes })
    .refersTo(Secret, ({ metadata: { namespace = "", name } }, caches) =>
      sessionSecrets({ namespace, name }, caches),
    )
    .reconcile(async (key, context) => {
      const object = context.caches.of(CoderControlPlane).get(key);
      if (!object || object.metadata.deletionTimestamp !== undefined) {
        memories.delete(key);
        return awaitChange;
      }
      const known = memories.get(key);
      const memory: Map<string, Looks> = known?.uid === object.metadata.uid ? known.memory : new Map();
      memories.set(key, { uid: object.metadata.uid, memory });
      return watchQueues({ key, object, memory }, { ports, context });
    });
}

/** The operator may ask coderd from now on, or no longer. */
function accessChanged({ object, previous }: Change<CoderControlPlane>): boolean {
  return object.status?.operatorAccessReady !== previous?.status?.operatorAccessReady;
}
