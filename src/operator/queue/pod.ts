import { type KubeObject, kind, type Stored } from "kube-controller-runtime";
import type { PoolPod } from "./pool.ts";

/** What is read of a pod. */
export interface Pod extends KubeObject {
  status?: {
    conditions?: { type: string; status: string; reason?: string; lastTransitionTime?: string }[];
    containerStatuses?: { state?: { running?: { startedAt?: string } } }[];
  };
}

export const Pod = kind<Pod>("v1", { kind: "Pod", plural: "pods" });

/** Index of pods by their namespace and the labels that a Deployment of ours selects by. */
export const APP_INDEX = "app";

export function appKey(namespace: string | undefined, labels: Readonly<Record<string, string>> = {}): string {
  return `${namespace}/${labels["app.kubernetes.io/name"]}/${labels["app.kubernetes.io/instance"]}`;
}

/** What is kept of a pod: who it is and whether it runs. */
export function slimPod({ metadata, status }: Stored<Pod>): Stored<Pod> {
  const { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp } = metadata;
  const kept = { name, namespace, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp };
  const { conditions, containerStatuses } = status ?? {};
  return {
    ...{ apiVersion: Pod.apiVersion, kind: Pod.kind },
    metadata: JSON.parse(JSON.stringify(kept)) as typeof metadata,
    status: {
      ...(conditions ? { conditions: conditions.filter(({ type }) => type === "PodScheduled") } : {}),
      ...(containerStatuses
        ? { containerStatuses: containerStatuses.map(({ state = {} }) => ({ state })) }
        : {}),
    },
  };
}

/** A pod as the decision sees it. `daemonName` is what its daemon calls itself at coderd. */
export function poolPod({ metadata, status }: Stored<Pod>, daemonName: string): PoolPod {
  const [startedAt] = (status?.containerStatuses ?? []).flatMap(
    ({ state }) => state?.running?.startedAt ?? [],
  );
  const refused = status?.conditions?.find(
    ({ type, status: isScheduled, reason }) =>
      type === "PodScheduled" && isScheduled === "False" && reason === "Unschedulable",
  );
  return {
    name: daemonName,
    isLeaving: metadata.deletionTimestamp !== undefined,
    ...(startedAt === undefined ? {} : { startedAt: Date.parse(startedAt) }),
    ...(refused?.lastTransitionTime ? { unschedulableSince: Date.parse(refused.lastTransitionTime) } : {}),
  };
}
