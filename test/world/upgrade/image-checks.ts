import { isNotFound, type ObjectRef, Pod, type Stored } from "kube-controller-runtime";
import type { ControlPlaneStage } from "../control-plane/stage.ts";
import type { Program } from "./schema.ts";

const PULL_MS = 2_000;
const BACK_OFF_MS = 10_000;

/** Where pods that check images are played, with the images of its registry. */
interface Fixture extends ControlPlaneStage {
  readonly programs: Readonly<Record<string, Program>>;
}

/**
 * Plays what a kubelet does with pods that run once: the image is pulled again and again until it exists, then the
 * container prints the version of its program and ends.
 */
export class ImageChecks {
  /** The pods that there were, by name. */
  readonly seen = new Map<string, Stored<Pod>>();
  readonly #stage: Fixture;

  constructor(stage: Fixture) {
    this.#stage = stage;
  }

  async live(hasRoom: boolean): Promise<void> {
    for (const pod of await this.pods()) {
      this.seen.set(pod.metadata.name, pod);
      const status = this.#statusOf(pod, hasRoom);
      const { namespace, name } = pod.metadata;
      if (JSON.stringify(pod.status) !== JSON.stringify(status))
        await this.#report({ namespace: namespace ?? "", name }, status);
    }
  }

  /** The operator may have deleted it meanwhile. */
  async #report(ref: ObjectRef, status: object | undefined): Promise<void> {
    try {
      await this.#stage.person.patchStatus(Pod, ref, { status });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Those that there are now. */
  async pods(): Promise<readonly Stored<Pod>[]> {
    const labelSelector = "app.kubernetes.io/name=coder-image-check";
    const { namespace, person } = this.#stage;
    return (await person.list(Pod, { namespace, labelSelector })).items;
  }

  #statusOf({ metadata, spec, status }: Stored<Pod>, hasRoom: boolean): object | undefined {
    const { name = "", image = "" } = spec?.containers[0] ?? {};
    const ageMs = this.#stage.clock.now() - Date.parse(String(metadata.creationTimestamp));
    if (status?.phase === "Succeeded" || ageMs < PULL_MS) return status;
    if (!hasRoom) {
      const scheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
      return { phase: "Pending", conditions: [{ ...scheduled, message: "0/3 nodes are available." }] };
    }
    const container = { name, image, imageID: "", ready: false, restartCount: 0 };
    const program = this.#stage.programs[image];
    if (!program) {
      const waiting = { state: { waiting: waitingFor(image, ageMs) } };
      return { phase: "Pending", conditions: [], containerStatuses: [{ ...container, ...waiting }] };
    }
    const terminated = { exitCode: 0, reason: "Completed", message: `Coder ${program.version} Fri Aug 14\n` };
    const ended = { ...container, imageID: image, state: { terminated } };
    return { phase: "Succeeded", conditions: [], containerStatuses: [ended] };
  }
}

/** A kubelet says why in turn with how long it waits. */
function waitingFor(image: string, ageMs: number): object {
  const message = `failed to resolve reference "${image}": ${image}: not found`;
  if (Math.floor(ageMs / BACK_OFF_MS) % 2 === 0) return { reason: "ErrImagePull", message };
  const backOff = `Back-off pulling image "${image}": ErrImagePull: ${message}`;
  return { reason: "ImagePullBackOff", message: backOff };
}
