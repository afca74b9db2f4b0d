import { type Client, Pod, type Stored } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";

const TIME_LIMIT = { withinMs: 30_000 };
const labelSelector = "app.kubernetes.io/name=coder-image-check";

interface Place {
  readonly person: Client;
  readonly namespace: string;
}

/** The pods that check the image of an upgrade. */
export async function imageChecks({ person, namespace }: Place): Promise<readonly Stored<Pod>[]> {
  return (await person.list(Pod, { namespace, labelSelector })).items;
}

/** Reports, where no kubelet runs, that the image of an upgrade was pulled and printed its version. */
export async function pullImage(place: Place, version: string): Promise<Stored<Pod>> {
  const pod = await eventually(async () => {
    const items = await imageChecks(place);
    return (
      items.find(({ status }) => status?.phase !== "Succeeded") ?? Promise.reject(new Error("no pod yet"))
    );
  }, TIME_LIMIT);
  const { name = "", image = "" } = pod.spec?.containers[0] ?? {};
  const terminated = { exitCode: 0, reason: "Completed", message: `Coder ${version}\n` };
  const container = { name, image, imageID: image, ready: false, restartCount: 0, state: { terminated } };
  await place.person.patchStatus(Pod, pod.metadata, {
    status: { phase: "Succeeded", containerStatuses: [container] },
  });
  return pod;
}
