import { Dice } from "kube-controller-runtime/testing";
import type { ProvisionerDaemon, ProvisionerJob } from "../../src/coder/provisioning.ts";
import { daemonTags } from "../../src/coder/tags.ts";
import { decide } from "../../src/operator/autoscaling/decide.ts";
import { isMoving, pauseAfterFailure, pauseAfterPoll } from "../../src/operator/autoscaling/poll-interval.ts";
import type { History, Pool, QueueObservation } from "../../src/operator/autoscaling/pool.ts";
import type { Build, Load } from "./loads.ts";

/** How the size of a pool is determined: fixed, or by the queue. */
export type Policy =
  | { readonly name: string; readonly fixed: number }
  | ({ readonly name: string } & Pick<Pool, "min" | "max" | "minIdle">);

/** The result of a day. */
export interface Outcome {
  /** The waiting time of each user's build in seconds, in order of their start. */
  readonly waits: readonly number[];
  /** Builds that coderd cancelled after half an hour in the queue. */
  readonly reaped: number;
  /**
   * Builds that a daemon took right before its pod was removed: whether they succeed depends on the grace
   * period.
   */
  readonly drained: number;
  readonly daemonHours: number;
  /** For each minute: builds that run or wait, and existing daemons. */
  readonly curve: readonly { readonly second: number; readonly demand: number; readonly daemons: number }[];
}

interface SimulatedPod {
  readonly name: string;
  readonly readyAt: number;
  build?: { readonly build: Build; readonly endsAt: number };
  isTerminating: boolean;
}

const DAY = 24 * 3_600;
const POLL_MS = 15_000;
const SCALE_DOWN_DELAY_MS = 300_000;
/** Scheduling, starting a container with an image on the node, and joining coderd. */
const POD_START_SECONDS: [number, number] = [5, 15];
/** Between a decision and the end of a pod: the API server, and the controllers of Kubernetes. */
const RESIZE_SECONDS = 2;
const REAPED_AFTER_SECONDS = 30 * 60;
const TAGS = daemonTags({});

/** Simulates one day of a pool under a load, second by second. Deterministic for a seed. */
export function simulateDay(load: Load, policy: Policy, seed: number): Outcome {
  const day = new Day(load, policy, new Dice(seed));
  for (let second = 0; second < DAY; second++) day.pass(second);
  return day.outcome();
}

class Day {
  readonly #load: Load;
  readonly #policy: Policy;
  readonly #dice: Dice;
  readonly #waits: number[] = [];
  readonly #curve: { second: number; demand: number; daemons: number }[] = [];
  #pods: SimulatedPod[] = [];
  #pending: Build[] = [];
  #arrived = 0;
  #podCount = 0;
  #daemonSeconds = 0;
  #reaped = 0;
  #drained = 0;
  #resizing: { readonly at: number; readonly costs: ReadonlyMap<SimulatedPod, number> } | undefined;
  #replicas: number;
  #history: History = [];
  #nextLook = 0;
  #failures = 0;
  #lastSeen = 0;

  constructor(load: Load, policy: Policy, dice: Dice) {
    this.#load = load;
    this.#policy = policy;
    this.#dice = dice;
    this.#replicas = "fixed" in policy ? policy.fixed : policy.min;
    for (let count = 0; count < this.#replicas; count++) this.#start(-60);
  }

  pass(second: number): void {
    const isUp = this.#load.isUp(second);
    this.#arrive(second);
    this.#finish(second);
    if (isUp) this.#handOut(second);
    this.#reap(second);
    if (this.#resizing && second >= this.#resizing.at) this.#resize(this.#resizing.costs, second);
    if (!("fixed" in this.#policy) && second >= this.#nextLook) this.#look(second, this.#policy);
    this.#daemonSeconds += this.#pods.length;
    if (second % 60 === 0) this.#note(second);
  }

  outcome(): Outcome {
    const daemonHours = this.#daemonSeconds / 3_600;
    const [waits, curve] = [this.#waits, this.#curve];
    return { waits, reaped: this.#reaped, drained: this.#drained, daemonHours, curve };
  }

  #start(second: number): void {
    const readyAt = second + this.#dice.whole(...POD_START_SECONDS);
    this.#pods.push({ name: `pod-${this.#podCount++}`, readyAt, isTerminating: false });
  }

  #arrive(second: number): void {
    for (let next = this.#load.builds[this.#arrived]; next?.at === second; ) {
      this.#pending.push(next);
      next = this.#load.builds[++this.#arrived];
    }
  }

  #finish(second: number): void {
    for (const pod of this.#pods) if (pod.build && pod.build.endsAt <= second) delete pod.build;
    this.#pods = this.#pods.filter(({ isTerminating, build }) => !isTerminating || build);
  }

  /** Like coderd: builds of users before prebuilds, then by age. */
  #handOut(second: number): void {
    const free = this.#pods.filter((pod) => !pod.build && !pod.isTerminating && pod.readyAt <= second);
    if (free.length === 0 || this.#pending.length === 0) return;
    this.#pending.sort((a, b) => Number(a.isPrebuild) - Number(b.isPrebuild) || a.at - b.at);
    for (const build of this.#pending.splice(0, free.length)) {
      if (!build.isPrebuild) this.#waits.push(second - build.at);
      const pod = free.shift();
      if (pod) pod.build = { build, endsAt: second + build.seconds };
    }
  }

  #reap(second: number): void {
    const kept = this.#pending.filter(({ at }) => second - at < REAPED_AFTER_SECONDS);
    this.#reaped += this.#pending.length - kept.length;
    this.#pending = kept;
  }

  #look(second: number, policy: Pick<Pool, "min" | "max" | "minIdle">): void {
    const isUp = this.#load.isUp(second);
    if (isUp) this.#lastSeen = second;
    this.#failures = isUp ? 0 : this.#failures + 1;
    const { decisions } = decide([this.#pool(policy)], this.#observe(second, isUp), second * 1_000);
    for (const { replicas, history } of decisions) {
      this.#history = history;
      if (replicas !== this.#replicas) this.#resizing = { at: second + RESIZE_SECONDS, costs: this.#costs() };
      this.#replicas = replicas;
    }
    const moving = isMoving(decisions, second * 1_000);
    const pauseMs = isUp
      ? pauseAfterPoll({ pollMs: POLL_MS, isMoving: moving, tookMs: 50 })
      : pauseAfterFailure({ pollMs: POLL_MS, failures: this.#failures, retryAfterMs: undefined });
    this.#nextLook = second + Math.round(pauseMs / 1_000);
  }

  #pool(policy: Pick<Pool, "min" | "max" | "minIdle">): Pool {
    return {
      name: "pool",
      tags: TAGS,
      keyIds: ["key"],
      scaleDownDelayMs: SCALE_DOWN_DELAY_MS,
      priority: 0,
      fallback: undefined,
      isRollingOut: false,
      keepWarmMs: 0,
      isKeptWarm: false,
      ...{ min: policy.min, max: policy.max, minIdle: policy.minIdle },
      replicas: this.#replicas,
      history: this.#history,
      pods: this.#pods.map(({ name, isTerminating, readyAt }) => ({
        name,
        isTerminating,
        isReady: true,
        startedAt: readyAt * 1_000,
      })),
    };
  }

  #observe(second: number, isUp: boolean): QueueObservation {
    if (!isUp) return { seen: false, since: this.#lastSeen * 1_000 };
    const connected = this.#pods.filter(({ readyAt }) => readyAt <= second);
    return {
      seen: true,
      queue: {
        jobs: this.#pending.map(asJob),
        daemons: connected.map((pod) => asDaemon(pod, second)),
        isCut: false,
      },
    };
  }

  /** The deletion costs that the operator wrote to the pods. */
  #costs(): Map<SimulatedPod, number> {
    return new Map(this.#pods.map((pod) => [pod, pod.build ? 1 : 0]));
  }

  /** Like a ReplicaSet: pods that do not run yet first, then those with the lowest cost. */
  #resize(costs: ReadonlyMap<SimulatedPod, number>, second: number): void {
    this.#resizing = undefined;
    const staying = this.#pods.filter(({ isTerminating }) => !isTerminating);
    const cost = (pod: SimulatedPod) => (pod.readyAt > second ? -1 : (costs.get(pod) ?? 0));
    const byCost = staying.toSorted((a, b) => cost(a) - cost(b));
    for (const pod of byCost.slice(0, Math.max(staying.length - this.#replicas, 0))) {
      pod.isTerminating = true;
      if (pod.build) this.#drained++;
    }
    for (let missing = this.#replicas - staying.length; missing > 0; missing--) this.#start(second);
  }

  #note(second: number): void {
    const running = this.#pods.filter(({ build }) => build).length;
    this.#curve.push({ second, demand: running + this.#pending.length, daemons: this.#pods.length });
  }
}

function asJob({ at, isPrebuild }: Build, index: number): ProvisionerJob {
  return {
    id: `${at}-${isPrebuild}-${index}`,
    createdAt: at * 1_000,
    startedAt: undefined,
    status: "pending",
    type: "workspace_build",
    tags: TAGS,
    workerId: undefined,
    queuePosition: index + 1,
  };
}

function asDaemon({ name, build }: SimulatedPod, second: number): ProvisionerDaemon {
  return {
    id: name,
    keyId: "key",
    name,
    version: "v2.36.1",
    lastSeenAt: second * 1_000,
    tags: TAGS,
    status: build ? "busy" : "idle",
    currentJobId: build && `${build.build.at}`,
  };
}
