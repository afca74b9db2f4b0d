import { type Deployment, fingerprint, Pod, type Stored, timestamp } from "kube-controller-runtime";
import type { CoderdDeployment, Daemon } from "../../../lab/coderd/deployment.ts";
import { DAEMON_CONNECTED } from "../../../src/operator/provisioner/admit.ts";
import { PlayedDeployments, statusOfPods } from "../played-deployments.ts";
import type { QueueStage } from "../queue/stage.ts";

const SECOND = 1_000;
/** A kubelet's pauses before it starts a container again. */
const BACK_OFF_S = [0, 10, 20, 40, 80, 160, 300];
const REAPED_MS = 5 * 60 * SECOND;

interface LivePod {
  readonly hash: string;
  readonly provisioner: string;
  readonly image: string;
  state: "created" | "running" | "ended";
  since: number;
  restarts: number;
  last?: { readonly startedAt: number; readonly finishedAt: number };
  daemon?: Daemon;
  isReady: boolean;
  written?: string;
}

/**
 * Plays kubelets and the controllers of Deployments and ReplicaSets for pools, second by second: rollouts by one pod more
 * at a time and none fewer, readiness gates, crashes with their pauses, daemons that join, build, and take builds with them.
 */
export class DaemonLife implements AsyncDisposable {
  /** After how many seconds a daemon of this image ends. */
  readonly endsAfterS: Record<string, number> = {};
  /** Whether daemons join coderd. */
  isJoining = true;
  buildMs = 20 * SECOND;
  readonly pods = new Map<string, LivePod>();
  readonly #stage: QueueStage;
  readonly #coderd: CoderdDeployment;
  readonly #played: PlayedDeployments;
  readonly #rolledOut = new Set<string>();
  #count = 0;

  constructor(stage: QueueStage, coderd: CoderdDeployment) {
    this.#stage = stage;
    this.#coderd = coderd;
    this.#played = new PlayedDeployments(stage, {
      resize: (deployment) => this.#resize(deployment),
      live: () => this.#live(),
      statusOf: (deployment) => this.#statusOf(deployment),
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#played[Symbol.asyncDispose]();
  }

  get #now(): number {
    return this.#stage.clock.now();
  }

  of(image: string): string[] {
    return [...this.pods].filter(([, pod]) => pod.image === image).map(([name]) => name);
  }

  /** Pods whose container runs, and did not end a moment ago. */
  lasting(): LivePod[] {
    return [...this.pods.values()].filter(
      ({ state, last }) => state === "running" && (!last || this.#now - last.finishedAt > 60 * SECOND),
    );
  }

  /** A pod is taken away without a word, as with its node. */
  async lose(name: string): Promise<void> {
    const { daemon } = this.pods.get(name) ?? {};
    if (daemon) daemon.silentSince ??= this.#now;
    this.pods.delete(name);
    await this.#stage.delete(Pod, name);
  }

  crash(name: string): void {
    const pod = this.pods.get(name);
    if (pod?.state === "running") this.#end(pod);
  }

  async #resize(deployment: Stored<Deployment>): Promise<void> {
    const hash = hashOf(deployment);
    const provisioner = deployment.metadata.name.replace("provisioner-", "");
    const all = [...this.pods].filter(([, pod]) => pod.provisioner === provisioner);
    const wanted = deployment.spec?.replicas ?? 1;
    const isNew = ([, pod]: [string, LivePod]) => pod.hash === hash;
    const present = all.filter(isNew);
    const room = wanted + 1 - all.length;
    const missing = wanted - present.length;
    const created = all.length === 0 ? missing : Math.min(missing, room);
    for (let left = created; left > 0; left--) await this.#create(deployment, { hash, provisioner });
    let ready = all.filter(([, pod]) => pod.isReady).length;
    const removable = [...all.filter((each) => !isNew(each)), ...present.slice(wanted)];
    for (const [name, pod] of removable) {
      if (pod.isReady && ready <= wanted) continue;
      if (pod.isReady) ready--;
      this.#leave(pod);
      this.pods.delete(name);
      await this.#stage.delete(Pod, name);
    }
  }

  /** A daemon that is asked to end finishes its build first; one that has lost a build can't. */
  #leave({ daemon, state, since }: LivePod): void {
    if (!daemon) return;
    const current = this.#coderd.jobs.currentOf(daemon);
    if (current && state === "running" && (current.startedAt ?? 0) >= since)
      this.#coderd.jobs.finish(current);
    daemon.silentSince ??= this.#now;
  }

  async #create(
    { spec }: Stored<Deployment>,
    { hash, provisioner }: { readonly hash: string; readonly provisioner: string },
  ): Promise<void> {
    const name = `provisioner-${provisioner}-${hash}-${++this.#count}`;
    const { template } = spec ?? {};
    const set = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `provisioner-${provisioner}-${hash}` };
    await this.#stage.person.create(Pod, {
      metadata: {
        ...this.#stage.ref(name),
        labels: { ...template?.metadata?.labels, "pod-template-hash": hash },
        ownerReferences: [{ ...set, uid: hash, controller: true }],
      },
      spec: { containers: [{ name: "provisioner", image: "coder" }] },
    });
    const image = template?.spec?.containers[0]?.image ?? "";
    const pod: LivePod = {
      ...{ hash, provisioner, image, state: "created", since: this.#now, restarts: 0, isReady: false },
    };
    this.pods.set(name, pod);
  }

  async #live(): Promise<void> {
    for (const [name, pod] of this.pods) {
      const ageS = (this.#now - pod.since) / SECOND;
      if (pod.state === "created" && ageS >= 1) this.#run(pod);
      else if (pod.state === "ended" && ageS >= (BACK_OFF_S[pod.restarts] ?? 300)) {
        pod.restarts++;
        this.#run(pod);
      } else if (pod.state === "running" && ageS >= (this.endsAfterS[pod.image] ?? Number.POSITIVE_INFINITY))
        this.#end(pod);
      if (pod.state === "running" && ageS >= 2 && this.isJoining) await this.#join(name, pod);
      await this.#report(name, pod);
    }
    for (const { id } of this.#coderd.organizations)
      for (const job of this.#coderd.jobs.of(id)) {
        const worker = this.#coderd.daemons.find((daemon) => daemon.id === job.worker?.id);
        const lostMs = worker?.silentSince === undefined ? 0 : this.#now - worker.silentSince;
        if (job.status === "running" && lostMs > REAPED_MS) this.#coderd.jobs.finish(job, "failed");
      }
  }

  #run(pod: LivePod): void {
    pod.state = "running";
    pod.since = this.#now;
  }

  #end(pod: LivePod): void {
    pod.last = { startedAt: pod.since, finishedAt: this.#now };
    pod.state = "ended";
    pod.since = this.#now;
    if (pod.daemon) pod.daemon.silentSince = this.#now;
  }

  async #join(name: string, pod: LivePod): Promise<void> {
    const { jobs } = this.#coderd;
    if (!pod.daemon) {
      const { secretRef } = await this.#stage.status(pod.provisioner);
      const key = await this.#stage.keyIn(secretRef?.name ?? "", secretRef?.key);
      const daemon = this.#coderd.connectDaemon(name, key ?? "");
      if (daemon) pod.daemon = daemon;
    }
    if (!pod.daemon) return;
    delete pod.daemon.silentSince;
    const current = jobs.currentOf(pod.daemon);
    const begunAt = current?.startedAt ?? 0;
    if (!current) jobs.acquire(pod.daemon);
    else if (begunAt >= pod.since && this.#now - begunAt >= this.buildMs) jobs.finish(current);
    else if (begunAt < pod.since && this.#now - begunAt >= REAPED_MS) jobs.finish(current, "failed");
  }

  async #report(name: string, pod: LivePod): Promise<void> {
    const { status } = await this.#stage.get(Pod, name);
    const gate = status?.conditions?.filter(({ type }) => type === DAEMON_CONNECTED) ?? [];
    const isRunning = pod.state === "running";
    pod.isReady = isRunning && gate.length > 0;
    const gated = `corresponding condition of pod readiness gate "${DAEMON_CONNECTED}" does not exist.`;
    const why = isRunning
      ? { reason: "ReadinessGatesNotReady", message: gated }
      : { reason: "ContainersNotReady" };
    const ready = pod.isReady
      ? { type: "Ready", status: "True" }
      : { type: "Ready", status: "False", ...why };
    const containerStatuses = pod.state === "created" ? [] : [this.#container(pod)];
    const next = { phase: "Running", conditions: [ready, ...gate], containerStatuses };
    const written = JSON.stringify(next);
    if (pod.written === written) return;
    pod.written = written;
    await this.#stage.person.patchStatus(Pod, this.#stage.ref(name), { status: next });
  }

  #container({ state, since, restarts, last }: LivePod): object {
    const terminated = last && {
      ...{ exitCode: 3, reason: "Error", message: "error: no terraform found" },
      ...{ startedAt: timestamp(last.startedAt), finishedAt: timestamp(last.finishedAt) },
    };
    const isRunning = state === "running";
    return {
      ...{ name: "provisioner", image: "coder", imageID: "", ready: isRunning, restartCount: restarts },
      state: isRunning
        ? { running: { startedAt: timestamp(since) } }
        : { waiting: { reason: "CrashLoopBackOff", message: "back-off" } },
      ...(terminated ? { lastState: { terminated } } : {}),
    };
  }

  #statusOf(deployment: Stored<Deployment>): object {
    const provisioner = deployment.metadata.name.replace("provisioner-", "");
    const all = [...this.pods.values()].filter((pod) => pod.provisioner === provisioner);
    const updated = all.filter(({ hash }) => hash === hashOf(deployment));
    const wanted = deployment.spec?.replicas ?? 1;
    const isRolledOut =
      this.#rolledOut.has(hashOf(deployment)) || updated.filter(({ isReady }) => isReady).length >= wanted;
    if (isRolledOut) this.#rolledOut.add(hashOf(deployment));
    const ready = all.filter(({ isReady }) => isReady).length;
    return statusOfPods({ all: all.length, updated: updated.length, ready, isRolledOut });
  }
}

function hashOf({ spec }: Stored<Deployment>): string {
  return fingerprint([JSON.stringify(spec?.template)]).slice(0, 8);
}
