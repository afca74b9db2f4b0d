import {
  type Client,
  isConflict,
  isNotFound,
  Pod,
  refOf,
  type Stored,
  subresource,
  timestamp,
} from "kube-controller-runtime";

/**
 * The condition that a pod of a pool needs before it counts as ready: coderd lists its daemon with the key in use. So a
 * rollout keeps the old daemons until the new ones are connected. It is set once in the life of a pod.
 */
export const DAEMON_CONNECTED = "coder.com/daemon-connected";

const PodStatus = subresource<Pod>(Pod, { name: "status", apiVersion: "v1", kind: "Pod" });

/** Whether nothing but our condition keeps the pod from being ready, in the words of its kubelet. */
export function awaitsAdmission({ metadata, status }: Stored<Pod>): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isGated = ready?.status === "False" && ready.reason === "ReadinessGatesNotReady";
  return (
    isGated && metadata.deletionTimestamp === undefined && (ready.message ?? "").includes(DAEMON_CONNECTED)
  );
}

/** Lets a pod count as ready. */
export type Admit = (pod: Stored<Pod>, because: "Listed" | "NotAsked") => Promise<void>;

const MESSAGES = {
  Listed: "coderd lists the daemon with the key in use.",
  NotAsked: "The operator may not ask coderd for daemons, so a container that runs counts.",
};

/** Applies the condition alone: those of the kubelet are not touched. A pod that is gone needs it no more. */
export function admitWith(client: Client, now: () => number): Admit {
  return async (pod, reason) => {
    const condition = { type: DAEMON_CONNECTED, status: "True", reason, message: MESSAGES[reason] };
    const conditions = [{ ...condition, lastTransitionTime: timestamp(now()) }];
    const { namespace, name } = refOf(pod);
    const metadata = { ...(namespace ? { namespace } : {}), name, uid: pod.metadata.uid };
    const body = { apiVersion: "v1", kind: "Pod", metadata, status: { conditions } };
    await client.apply(PodStatus, body).catch((error) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  };
}
