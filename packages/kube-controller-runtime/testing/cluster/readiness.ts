import { type ApiEndpoint, apiObject } from "./api-request.ts";

interface Deployment {
  readonly metadata: { readonly generation: number };
  readonly spec: { readonly replicas?: number };
}

interface PodList {
  readonly items: readonly Pod[];
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
}

/** Writes the status of a Deployment whose replicas are all available. */
export async function markDeploymentReady(api: ApiEndpoint, namespace: string, name: string): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  const { metadata, spec } = await apiObject<Deployment>(api, { method: "GET", path });
  const status = rolledOutStatus(metadata.generation, spec.replicas ?? 1);
  await apiObject(api, { method: "PATCH", path: `${path}/status`, body: { status } });
}

/** The status of a Deployment whose replicas all run this generation of its spec. */
export function rolledOutStatus(generation: number, replicas: number): object {
  return {
    observedGeneration: generation,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    conditions: [
      condition("Available", "MinimumReplicasAvailable"),
      condition("Progressing", "NewReplicaSetAvailable"),
    ],
  };
}

/** Writes the status of pods whose containers all run and pass their probes. */
export async function markPodsReady(api: ApiEndpoint, namespace: string, selector: string): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const path = `${pods}?labelSelector=${encodeURIComponent(selector)}`;
  const { items } = await apiObject<PodList>(api, { method: "GET", path });
  const mark = (pod: Pod) =>
    apiObject(api, {
      method: "PATCH",
      path: `${pods}/${pod.metadata.name}/status`,
      body: { status: readyPodStatus(pod) },
    });
  await Promise.all(items.map(mark));
}

function readyPodStatus(pod: Pod): object {
  const startedAt = new Date().toISOString();
  return {
    phase: "Running",
    conditions: [condition("Ready", "Ready"), condition("ContainersReady", "Ready")],
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: image,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt } },
    })),
  };
}

function condition(type: string, reason: string): object {
  return { type, status: "True", reason, lastTransitionTime: new Date().toISOString() };
}
