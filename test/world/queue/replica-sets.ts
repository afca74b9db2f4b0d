import { type Deployment, Pod, type Stored } from "kube-controller-runtime";
import type { CoderdDeployment, Daemon } from "../../../lab/coderd/deployment.ts";
import { PlayedDeployments, statusOfPods } from "../played-deployments.ts";
import type { QueueStage } from "./stage.ts";

const START_MS = 5_000;
const COST = "controller.kubernetes.io/pod-deletion-cost";

interface RunningPod {
  readonly deployment: string;
  readonly readyAt: number;
  daemon?: Daemon;
  isTerminating: boolean;
}

/**
 * Plays what Kubernetes and daemons do with the Deployments of provisioners: pods come and go with the number asked
 * for, those that cost least first; their daemons join coderd after a while, take jobs, and finish them when they leave.
 */
export class ReplicaSets implements AsyncDisposable {
  /** How long builds take that begin from now on. */
  buildMs = 60_000;
  /** Whether Deployments report that pods of an earlier template are still there. */
  isRollingOut = false;
  /** The most pods that there ever were. */
  most = 0;
  /** Pods that were taken away while they had a job. */
  readonly disturbed: string[] = [];
  readonly #stage: QueueStage;
  readonly #coderd: CoderdDeployment;
  readonly #pods = new Map<string, RunningPod>();
  readonly #ends = new Map<string, number>();
  readonly #played: PlayedDeployments;
  #count = 0;

  constructor(stage: QueueStage, coderd: CoderdDeployment) {
    this.#stage = stage;
    this.#coderd = coderd;
    this.#played = new PlayedDeployments(stage, {
      resize: (deployment) => this.#resize(deployment),
      live: () => this.#work(),
      statusOf: ({ metadata }) => this.#statusOf(metadata.name),
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#played[Symbol.asyncDispose]();
  }

  #of(deployment: string): [string, RunningPod][] {
    return [...this.#pods].filter(([, pod]) => pod.deployment === deployment && !pod.isTerminating);
  }

  async #resize({ metadata: { name }, spec }: Stored<Deployment>): Promise<void> {
    const present = this.#of(name);
    const wanted = spec?.replicas ?? 1;
    for (let missing = wanted - present.length; missing > 0; missing--) await this.#start(name);
    this.most = Math.max(this.most, this.#pods.size);
    if (present.length <= wanted) return;
    const costs = await Promise.all(
      present.map(async ([pod, running]) => {
        const { annotations } = (await this.#stage.get(Pod, pod)).metadata;
        return { pod, running, cost: running.daemon ? Number(annotations?.[COST] ?? 0) : -1 };
      }),
    );
    const cheapest = costs.sort((a, b) => a.cost - b.cost).slice(0, present.length - wanted);
    for (const { pod, running } of cheapest) {
      running.isTerminating = true;
      if (running.daemon && this.#coderd.jobs.currentOf(running.daemon)) this.disturbed.push(pod);
    }
  }

  async #start(deployment: string): Promise<void> {
    const name = `${deployment}-${++this.#count}`;
    await this.#stage.createPod(name, deployment.replace("provisioner-", ""));
    const readyAt = this.#stage.clock.now() + START_MS;
    this.#pods.set(name, { deployment, readyAt, isTerminating: false });
  }

  async #work(): Promise<void> {
    const now = this.#stage.clock.now();
    for (const [name, pod] of this.#pods) {
      if (!pod.daemon && !pod.isTerminating && now >= pod.readyAt)
        pod.daemon = await this.#stage.joinPod(
          name,
          pod.deployment.replace("provisioner-", ""),
          this.#coderd,
        );
      const current = pod.daemon && this.#coderd.jobs.currentOf(pod.daemon);
      if (current && now >= (this.#ends.get(current.id) ?? 0)) this.#coderd.jobs.finish(current);
      const isBusy = pod.daemon && this.#coderd.jobs.currentOf(pod.daemon);
      if (pod.isTerminating && !isBusy) await this.#end(name, pod);
      else if (pod.daemon && !pod.isTerminating && !isBusy) this.#take(pod.daemon, now);
    }
  }

  #take(daemon: Daemon, now: number): void {
    const job = this.#coderd.jobs.acquire(daemon);
    if (job) this.#ends.set(job.id, now + this.buildMs);
  }

  async #end(name: string, { daemon }: RunningPod): Promise<void> {
    this.#pods.delete(name);
    this.#coderd.daemons = this.#coderd.daemons.filter((other) => other !== daemon);
    await this.#stage.delete(Pod, name);
  }

  #statusOf(deployment: string): object {
    const present = this.#of(deployment);
    const ready = present.filter(([, { daemon }]) => daemon).length;
    const updated = this.isRollingOut ? 0 : present.length;
    return statusOfPods({ all: present.length, updated, ready, isRolledOut: true });
  }
}
