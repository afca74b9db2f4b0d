import { Deployment, Pod, type Stored } from "kube-controller-runtime";
import type { CoderdDeployment, Daemon } from "../../../lab/coderd/deployment.ts";
import type { QueueStage } from "./stage.ts";

const PERIOD_MS = 1_000;
const START_MS = 5_000;
const COST = "controller.kubernetes.io/pod-deletion-cost";

interface RunningPod {
  readonly deployment: string;
  readonly readyAt: number;
  daemon?: Daemon;
  isLeaving: boolean;
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
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;
  readonly #reports = new Map<string, string>();
  #count = 0;

  constructor(stage: QueueStage, coderd: CoderdDeployment) {
    this.#stage = stage;
    this.#coderd = coderd;
    this.#loop = this.#play();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #play(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const { items } = await this.#stage.person.list(Deployment, { namespace: this.#stage.namespace });
      for (const deployment of items) await this.#resize(deployment);
      await this.#work();
      for (const deployment of items) await this.#report(deployment);
      await this.#stage.clock.sleep(PERIOD_MS, signal).catch(() => {});
    }
  }

  #of(deployment: string): [string, RunningPod][] {
    return [...this.#pods].filter(([, pod]) => pod.deployment === deployment && !pod.isLeaving);
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
      running.isLeaving = true;
      if (running.daemon && this.#coderd.jobs.currentOf(running.daemon)) this.disturbed.push(pod);
    }
  }

  async #start(deployment: string): Promise<void> {
    const name = `${deployment}-${++this.#count}`;
    await this.#stage.createPod(name, deployment.replace("provisioner-", ""));
    const readyAt = this.#stage.clock.now() + START_MS;
    this.#pods.set(name, { deployment, readyAt, isLeaving: false });
  }

  async #work(): Promise<void> {
    const now = this.#stage.clock.now();
    for (const [name, pod] of this.#pods) {
      if (!pod.daemon && !pod.isLeaving && now >= pod.readyAt)
        pod.daemon = await this.#stage.joinPod(
          name,
          pod.deployment.replace("provisioner-", ""),
          this.#coderd,
        );
      const current = pod.daemon && this.#coderd.jobs.currentOf(pod.daemon);
      if (current && now >= (this.#ends.get(current.id) ?? 0)) this.#coderd.jobs.finish(current);
      const isBusy = pod.daemon && this.#coderd.jobs.currentOf(pod.daemon);
      if (pod.isLeaving && !isBusy) await this.#end(name, pod);
      else if (pod.daemon && !pod.isLeaving && !isBusy) this.#take(pod.daemon, now);
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

  async #report({ metadata, spec }: Stored<Deployment>): Promise<void> {
    const present = this.#of(metadata.name);
    const ready = present.filter(([, { daemon }]) => daemon).length;
    const status = {
      observedGeneration: metadata.generation ?? 0,
      replicas: present.length,
      updatedReplicas: this.isRollingOut ? 0 : present.length,
      readyReplicas: ready,
      availableReplicas: ready,
      conditions: [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" }],
    };
    const said = JSON.stringify(status);
    if (!spec || this.#reports.get(metadata.name) === said) return;
    this.#reports.set(metadata.name, said);
    await this.#stage.person.patchStatus(Deployment, this.#stage.ref(metadata.name), { status });
  }
}
