import type { Pod, Stored } from "kube-controller-runtime";
import { type Environment, expand, resolveEnvironment, type Sources } from "./environment.ts";
import { type Container, containerOf } from "./pod.ts";

/** A container with all that a kubelet fills in before it runs one. */
export interface ContainerPlan {
  readonly pod: Stored<Pod>;
  readonly container: Container;
  readonly podIP: string;
  /** Empty runs the image's own entrypoint. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: Environment;
  /** Where the content of volumes is found. */
  readonly sources: Sources;
}

/** A container that was started. */
export interface RunningContainer {
  /** Resolves when it ended by itself or was stopped. */
  readonly ended: Promise<void>;
  /** With what it ended by itself. */
  readonly exitCode?: () => number | undefined;
  /** What it wrote last before it ended by itself. */
  readonly lastOutput?: () => string;
  /** What it left in `/dev/termination-log`. */
  readonly terminationLog?: () => string;
  /** Whether it may be sent work at this moment. */
  isReady(): Promise<boolean>;
  /** Asks it to end and returns when it has; one that takes longer than its grace is not asked again. */
  stop(graceMs: number): Promise<void>;
}

/** There is no such image where the node looks for it. */
export class ImagePullError extends Error {
  override readonly name = "ImagePullError";
}

/** Runs containers, each in its own way: as a local process, or as a play with the coderd simulator. */
export type Launch = (plan: ContainerPlan) => Promise<RunningContainer>;

/** Fills in what the pod leaves to its node; throws `MissingSourceError` while something it names is missing. */
export async function planContainer(
  pod: Stored<Pod>,
  podIP: string,
  sources: Sources,
): Promise<ContainerPlan> {
  const container = containerOf(pod);
  const env = await resolveEnvironment(container, { pod, podIP, sources });
  return {
    pod,
    container,
    podIP,
    command: (container.command ?? []).map((text) => expand(text, env)),
    args: (container.args ?? []).map((text) => expand(text, env)),
    env,
    sources,
  };
}
