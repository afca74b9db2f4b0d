import { type Deployment, fingerprint, Pod, type Stored } from "kube-controller-runtime";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { ControlPlaneStage } from "../control-plane/stage.ts";
import { PlayedDeployments, statusOfPods } from "../played-deployments.ts";
import { ImageChecks } from "./image-checks.ts";
import type { Program, SimulatedSchema } from "./schema.ts";

const START_MS = 2_000;
const END_MS = 3_000;
const RESTART_MS = 20_000;
const DEADLINE_MS = 10 * 60_000;

type Condition = "unscheduled" | "starting" | "running" | "ready" | "crashed" | "unpulled" | "leaving";

interface RunningPod {
  readonly deployment: string;
  readonly hash: string;
  readonly image: string;
  /** Whether a probe says when it serves; without one it counts as ready as soon as it runs. */
  readonly isProbed: boolean;
  readonly createdAt: number;
  condition: Condition;
  since: number;
  /** When it crashed last, and how often it did. */
  crashes: number;
  crashedAt: number;
}

/** Where it is played, with the database that coderd migrates. */
interface Fixture extends ControlPlaneStage {
  readonly coderd: CoderdDeployment;
  readonly schema: SimulatedSchema;
  readonly programs: Readonly<Record<string, Program>>;
}

/**
 * Plays what Kubernetes and coderd do with Deployments: pods come and go with the number and the template and take a
 * while to end, and those of the control plane migrate the database as the program in their image does.
 */
export class Rollouts implements AsyncDisposable {
  /** What went against a safe upgrade: two versions of coderd alive at once, or an old one on a new schema. */
  readonly violations: string[] = [];
  /** The images of the control plane in the order in which they came to serve. */
  readonly served: string[] = [];
  /** The images of the control plane's pods in the order in which they were created. */
  readonly started: string[] = [];
  /** Whether a node takes new pods. */
  hasRoom = true;
  /** Whether pods are killed before they can say that they end: their replicas stay in the database for a minute. */
  isKilled = false;
  /** The Deployments as they were when they were not paused. */
  readonly #resumed = new Map<string, Stored<Deployment>>();
  readonly imageChecks: ImageChecks;
  readonly #stage: Fixture;
  readonly #pods = new Map<string, RunningPod>();
  readonly #played: PlayedDeployments;
  #count = 0;
  #silence: "stall" | "cut" | undefined;
  #endSilence: () => void = () => {};

  constructor(stage: Fixture) {
    this.#stage = stage;
    this.imageChecks = new ImageChecks(stage);
    this.#played = new PlayedDeployments(stage, {
      resize: (deployment) => this.#resize(deployment),
      live: (deployments) => this.#liveAll(deployments),
      statusOf: (deployment) => this.#statusOf(deployment),
    });
  }

  /** The images of the pods of a Deployment that are alive, those that end among them. */
  alive(deployment = "coder"): string[] {
    return [...this.#pods.values()].filter((pod) => pod.deployment === deployment).map(({ image }) => image);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#played[Symbol.asyncDispose]();
  }

  async #liveAll(deployments: readonly Stored<Deployment>[]): Promise<void> {
    const names = new Set(deployments.map(({ metadata }) => metadata.name));
    for (const [, pod] of this.#pods)
      if (!names.has(pod.deployment) && pod.condition !== "leaving") this.#turn(pod, "leaving");
    for (const [name, pod] of this.#pods) await this.#live(name, pod);
    await this.imageChecks.live(this.hasRoom);
    this.#answer();
    if (new Set(this.alive()).size > 1) this.violations.push(`alive at once: ${this.alive().join(", ")}`);
  }

  /** Without a ready pod there is no response: connections are refused, or hang if the pod migrates. */
  #answer(): void {
    const conditions = this.#of("coder").map(([, { condition }]) => condition);
    const silence = conditions.includes("ready")
      ? undefined
      : conditions.includes("running")
        ? "stall"
        : "cut";
    if (silence === this.#silence) return;
    this.#silence = silence;
    this.#endSilence();
    this.#endSilence = silence ? this.#stage.coderd.faults.inject({ fault: { kind: silence } }) : () => false;
  }

  #of(deployment: string): [string, RunningPod][] {
    return [...this.#pods].filter(([, pod]) => pod.deployment === deployment && pod.condition !== "leaving");
  }

  /** New pods come first, and old ones go as soon as all new ones serve, as in a rolling update. */
  async #resize(deployment: Stored<Deployment>): Promise<void> {
    const { name } = deployment.metadata;
    if (!deployment.spec?.paused) this.#resumed.set(name, deployment);
    const rolled = this.#resumed.get(name) ?? deployment;
    const hash = hashOf(rolled);
    const wanted = deployment.spec?.replicas ?? 1;
    const current = this.#of(name).filter(([, pod]) => pod.hash === hash);
    for (let missing = wanted - current.length; missing > 0; missing--) await this.#start(rolled, hash);
    for (const [, pod] of current.slice(wanted)) this.#turn(pod, "leaving");
    const ready = current.filter(([, pod]) => isReady(pod)).length;
    if (ready < wanted) return;
    for (const [, pod] of this.#of(name)) if (pod.hash !== hash) this.#turn(pod, "leaving");
  }

  async #start(deployment: Stored<Deployment>, hash: string): Promise<void> {
    const { template } = deployment.spec ?? {};
    const { name: parent } = deployment.metadata;
    const name = `${parent}-${hash}-${++this.#count}`;
    const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${parent}-${hash}`, uid: hash };
    const labels = { ...template?.metadata?.labels, "pod-template-hash": hash };
    const ownerReferences = [{ ...replicaSet, controller: true }];
    const metadata = { ...this.#stage.ref(name), labels, ownerReferences };
    await this.#stage.person.create(Pod, { ...Pod, metadata } as Pod);
    const { image = "", readinessProbe, startupProbe } = template?.spec?.containers[0] ?? {};
    const isProbed = readinessProbe !== undefined || startupProbe !== undefined;
    if (parent === "coder") this.started.push(image);
    const since = this.#stage.clock.now();
    const life = { createdAt: since, condition: "starting", since, crashes: 0, crashedAt: 0 } as const;
    this.#pods.set(name, { deployment: parent, hash, image, isProbed, ...life });
  }

  #turn(pod: RunningPod, condition: Condition): void {
    pod.condition = condition;
    pod.since = this.#stage.clock.now();
  }

  async #live(name: string, pod: RunningPod): Promise<void> {
    const before = pod.condition;
    const ageMs = this.#stage.clock.now() - pod.since;
    if (pod.condition === "leaving" && ageMs >= END_MS) {
      this.#pods.delete(name);
      this.#stage.schema.leave(pod);
      if (!this.isKilled) this.#stage.schema.hosts.delete(name);
      await this.#stage.delete(Pod, name);
      return;
    }
    if (pod.condition === "starting" && !this.hasRoom) this.#turn(pod, "unscheduled");
    if (pod.condition === "unscheduled" && this.hasRoom) this.#turn(pod, "starting");
    if (pod.condition === "starting" && ageMs >= START_MS) this.#turn(pod, "running");
    if (pod.condition === "crashed" && ageMs >= RESTART_MS) this.#turn(pod, "running");
    if (pod.condition === "running") this.#run(pod);
    if (pod.condition === "ready" && pod.deployment === "coder") this.#stage.schema.hosts.add(name);
    if (pod.condition !== before) await this.#say(name, pod);
  }

  #run(pod: RunningPod): void {
    const { schema, programs, coderd } = this.#stage;
    const outcome = pod.deployment === "coder" ? this.#meet(pod) : "ready";
    if (outcome === "crashed") {
      schema.leave(pod);
      pod.crashes++;
      pod.crashedAt = this.#stage.clock.now();
    }
    if (outcome !== "running") this.#turn(pod, outcome);
    if (outcome !== "ready" || pod.deployment !== "coder") return;
    coderd.version = programs[pod.image]?.version ?? "";
    if (this.served.at(-1) !== pod.image) this.served.push(pod.image);
  }

  #meet(pod: RunningPod): Condition {
    const { programs, schema, tokens, clock } = this.#stage;
    const program = programs[pod.image];
    if (!program) return "unpulled";
    const outcome = tokens.isDown ? "crashes" : schema.meet(program, pod, clock.now());
    if (outcome === "crashes") return "crashed";
    return outcome === "serves" ? "ready" : "running";
  }

  async #say(name: string, pod: RunningPod): Promise<void> {
    const { condition, image } = pod;
    if (condition === "unscheduled") return this.#refuse(name);
    const restartCount = condition === "crashed" ? pod.crashes - 1 : pod.crashes;
    const container = { name: "coder", image, imageID: image, ready: isReady(pod), restartCount };
    const finishedAt = new Date(pod.crashedAt).toISOString();
    const ended = { lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt } } };
    const states: Partial<Record<Condition, object>> = {
      ready: { state: { running: {} } },
      unpulled: { state: { waiting: { reason: "ErrImagePull", message: "not found" } } },
      crashed: { state: { waiting: { reason: "CrashLoopBackOff" } } },
    };
    const more = { ...(pod.crashes > 0 ? ended : {}), ...(states[condition] ?? { state: { running: {} } }) };
    const status = { phase: "Running", conditions: null, containerStatuses: [{ ...container, ...more }] };
    await this.#stage.person.patchStatus(Pod, this.#stage.ref(name), { status });
  }

  async #refuse(name: string): Promise<void> {
    const lastTransitionTime = new Date(this.#stage.clock.now()).toISOString();
    const scheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", lastTransitionTime };
    const status = { phase: "Pending", conditions: [{ ...scheduled, message: "0/3 nodes are available." }] };
    await this.#stage.person.patchStatus(Pod, this.#stage.ref(name), { status });
  }

  #statusOf(deployment: Stored<Deployment>): object {
    const present = this.#of(deployment.metadata.name);
    const updated = present.filter(([, pod]) => pod.hash === hashOf(deployment)).length;
    const ready = present.filter(([, pod]) => isReady(pod)).length;
    const isRolledOut = updated === present.length && ready === present.length;
    const status = statusOfPods({ all: present.length, updated, ready, isRolledOut });
    const isLate = present.some(([, pod]) => !isReady(pod) && this.#ageOf(pod) >= DEADLINE_MS);
    const late = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    return { ...status, ...(isLate ? { conditions: [late] } : {}) };
  }

  #ageOf({ createdAt }: RunningPod): number {
    return this.#stage.clock.now() - createdAt;
  }
}

/** Whether a kubelet calls it ready. */
function isReady({ condition, isProbed }: RunningPod): boolean {
  return condition === "ready" || (condition === "running" && !isProbed);
}

function hashOf({ spec }: Stored<Deployment>): string {
  return fingerprint([JSON.stringify(spec?.template)]).slice(0, 8);
}
