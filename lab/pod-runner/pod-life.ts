import {
  type Client,
  type Clock,
  isNotFound,
  type KubeObject,
  kind,
  messageOf,
  type ObjectRef,
  Pod,
  refOf,
  type Stored,
} from "kube-controller-runtime";
import type { Sources } from "./environment.ts";
import { ImagePullError, type Launch, planContainer, type RunningContainer } from "./launch.ts";
import { containerOf } from "./pod.ts";
import { type ContainerEnd, type ContainerState, isReady, podStatus } from "./status.ts";

/** The shared state of a runner's pods. */
export interface PodNode {
  readonly client: Client;
  readonly clock: Clock;
  readonly launch: Launch;
  readonly sources: Sources;
}

interface Binding extends KubeObject {
  readonly target: { readonly kind: "Node"; readonly name: string };
}

const Binding = kind<Binding>("v1", { kind: "Binding", plural: "bindings" });
const NODE_NAME = "local";
const CHECK_MS = 250;
/** How long a container stays down after it ended or could not be created. */
const RESTART_MS = 1_000;
const RETRY_MS = 500;

/**
 * The life of a pod from its binding to its removal. Its container is started, restarted when it ends, and
 * its readiness is reported. The pod is removed after its container has ended.
 */
export class PodLife {
  /** Resolves when no part of the pod is left on this node. */
  readonly ended: Promise<void>;
  readonly #ref: ObjectRef;
  #pod: Stored<Pod>;
  readonly #podIP: string;
  readonly #node: PodNode;
  readonly #end = new AbortController();
  readonly #startedAt: number;
  #graceMs = 0;
  #removes = false;
  #restarts = 0;
  #lastEnd: ContainerEnd | undefined;
  #state: ContainerState = { kind: "waiting", reason: "ContainerCreating" };
  #since: number;
  #reported = "";

  constructor(pod: Stored<Pod>, podIP: string, node: PodNode) {
    this.#pod = pod;
    this.#ref = refOf(pod);
    this.#podIP = podIP;
    this.#node = node;
    this.#startedAt = this.#since = node.clock.now();
    this.ended = this.#live();
  }

  /** Another client has changed the pod: its readiness gates may have changed. */
  update(pod: Stored<Pod>): void {
    this.#pod = pod;
  }

  /** The pod is being deleted: stops the container within the grace period, then removes the pod. */
  remove(graceSeconds: number): void {
    this.#removes = true;
    this.#graceMs = graceSeconds * 1_000;
    this.#end.abort();
  }

  /** The pod no longer exists, or its node is stopping: ends the container without any request. */
  abandon(): void {
    this.#removes = false;
    this.#end.abort();
  }

  async #live(): Promise<void> {
    const { client } = this.#node;
    if (!this.#pod.spec?.nodeName) await this.#insist(() => client.create(Binding, bindingOf(this.#pod)));
    while (!this.#end.signal.aborted && this.#state.kind !== "terminated") {
      const container = await this.#start();
      if (container) await this.#attend(container);
      else await this.#report();
      await this.#sleep(RESTART_MS);
    }
    await this.#untilRemoved();
    const { uid } = this.#pod.metadata;
    if (this.#removes)
      await this.#insist(() => client.delete(Pod, this.#ref, { uid, gracePeriodSeconds: 0 }));
  }

  /** A pod that runs once stays until it is deleted. */
  async #untilRemoved(): Promise<void> {
    const { signal } = this.#end;
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }

  /** A failure is reported in the status: usually a Secret does not exist yet. */
  async #start(): Promise<RunningContainer | undefined> {
    try {
      const plan = await planContainer(this.#pod, this.#podIP, this.#node.sources);
      return await this.#node.launch(plan);
    } catch (error) {
      const reason = error instanceof ImagePullError ? "ErrImagePull" : "CreateContainerConfigError";
      this.#become({ kind: "waiting", reason, message: messageOf(error) });
      return undefined;
    }
  }

  /** Monitors the container until it exits or is stopped. */
  async #attend(container: RunningContainer): Promise<void> {
    const startedAt = this.#node.clock.now();
    if (this.#lastEnd) this.#restarts++;
    let running = true;
    const ended = container.ended.then(() => {
      running = false;
    });
    while (running && !this.#end.signal.aborted) {
      this.#become({ kind: "running", startedAt, ready: await container.isReady() });
      await this.#report();
      await Promise.race([ended, this.#sleep(CHECK_MS)]);
    }
    if (this.#end.signal.aborted) return container.stop(this.#graceMs);
    const end = {
      exitCode: container.exitCode?.() ?? 0,
      startedAt,
      finishedAt: this.#node.clock.now(),
      message: this.#messageOf(container),
    };
    if (this.#pod.spec?.restartPolicy === "Never") {
      this.#become({ kind: "terminated", end });
      return this.#report();
    }
    this.#lastEnd = end;
    this.#become({ kind: "waiting", reason: "CrashLoopBackOff", message: "the container ended" });
    await this.#report();
  }

  /** A kubelet only uses the log if the container requests it and has failed. */
  #messageOf(container: RunningContainer): string {
    const left = container.terminationLog?.();
    if (left) return left;
    const isAsked = containerOf(this.#pod).terminationMessagePolicy === "FallbackToLogsOnError";
    return isAsked && container.exitCode?.() !== 0 ? (container.lastOutput?.() ?? "") : "";
  }

  #become(state: ContainerState): void {
    if (isReady(state) !== isReady(this.#state)) this.#since = this.#node.clock.now();
    this.#state = state;
  }

  async #report(): Promise<void> {
    const status = podStatus(this.#pod, this.#state, {
      podIP: this.#podIP,
      startedAt: this.#startedAt,
      since: this.#since,
      restarts: this.#restarts,
      lastEnd: this.#lastEnd,
    });
    const report = JSON.stringify(status);
    if (report === this.#reported) return;
    await this.#insist(() => this.#node.client.patchStatus(Pod, this.#ref, { status }));
    this.#reported = report;
  }

  /** Repeats a request while the API server is unavailable. Stops if the pod no longer exists. */
  async #insist(request: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await request();
        return;
      } catch (error) {
        if (isNotFound(error)) return this.abandon();
        if (this.#end.signal.aborted && !this.#removes) return;
        await this.#node.clock.sleep(RETRY_MS);
      }
    }
  }

  async #sleep(ms: number): Promise<void> {
    await this.#node.clock.sleep(ms, this.#end.signal).catch(() => undefined);
  }
}

function bindingOf({ metadata: { namespace, name, uid } }: Stored<Pod>): Binding {
  return {
    metadata: { ...(namespace ? { namespace } : {}), name, uid },
    target: { kind: "Node", name: NODE_NAME },
  };
}
