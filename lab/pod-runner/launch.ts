import type { Pod, Stored } from "kube-controller-runtime";
import { type Environment, expand, resolveEnvironment, type Sources } from "./environment.ts";
import { type Container, containerOf } from "./pod.ts";

/** A container with everything that a kubelet resolves before running it. */
export interface ContainerPlan {
  readonly pod: Stored<Pod>;
  readonly container: Container;
  readonly podIP: string;
  /** Empty runs the image's own entrypoint. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: Environment;
  /** The sources of volumes. */
  readonly sources: Sources;
}

/** A running container. */
export interface RunningContainer {
  /** Resolves when it exited or was stopped. */
  readonly ended: Promise<void>;
  /** The exit code, if it exited by itself. */
  readonly exitCode?: () => number | undefined;
  /** The end of its output, if it exited by itself. */
  readonly lastOutput?: () => string;
  /** The content of `/dev/termination-log`. */
  readonly terminationLog?: () => string;
  /** Whether it is ready now. */
  isReady(): Promise<boolean>;
  /** Requests its end and resolves when it has ended; the request is not repeated after the grace period. */
  stop(graceMs: number): Promise<void>;
}

/** The image does not exist. */
export class ImagePullError extends Error {
  override readonly name = "ImagePullError";
}

/** Runs containers: as local processes, or simulated with the coderd simulator. */
export type Launch = (plan: ContainerPlan) => Promise<RunningContainer>;

/**
 * Resolves what the pod leaves to its node; throws `MissingSourceError` if a referenced object is missing.
 */
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
