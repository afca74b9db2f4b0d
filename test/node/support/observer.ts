import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod, V1ReplicaSet } from "@kubernetes/client-node";
import { messageOf } from "kube-controller-runtime";
import type { Cluster } from "./cluster.ts";

const PAUSE_MS = 1_000;
const KINDS = "coderprovisioners,codercontrolplanes,coderworkspaceproxies,pods,replicasets";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Listed {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** What a namespace showed at one moment. */
export class Sample {
  readonly at: number;
  readonly #items: readonly Listed[];

  constructor(at: number, items: readonly Listed[]) {
    this.at = at;
    this.#items = items;
  }

  /** A condition of an object that is named `kind/name`. */
  condition(object: string, type: string): Condition | undefined {
    return this.conditions(object).find((condition) => condition.type === type);
  }

  conditions(object: string): readonly Condition[] {
    return this.#items.find((item) => nameOf(item) === object)?.status?.conditions ?? [];
  }

  /** The pods of an object, without those on their way out. */
  pods(object: string): readonly V1Pod[] {
    return this.#childrenOf<V1Pod>("Pod", object).filter(({ metadata }) => !metadata?.deletionTimestamp);
  }

  replicaSets(object: string): readonly V1ReplicaSet[] {
    return this.#childrenOf("ReplicaSet", object);
  }

  #childrenOf<T extends V1Pod | V1ReplicaSet>(kind: string, object: string): readonly T[] {
    const items = this.#items as readonly unknown[] as readonly T[];
    const [type, name] = object.split("/");
    return items.filter(({ kind: each, metadata }) => {
      const labels = metadata?.labels ?? {};
      const isOfType = labels["app.kubernetes.io/name"]?.replaceAll("-", "") === type;
      return each === kind && isOfType && labels["app.kubernetes.io/instance"] === name;
    });
  }
}

function nameOf({ kind, metadata }: Listed): string {
  return `${kind.toLowerCase()}/${metadata.name}`;
}

/** PollState at a namespace every second and remembers what it saw, so that tests can judge what was when. */
export class Observer implements AsyncDisposable {
  readonly samples: Sample[] = [];
  readonly #cluster: Cluster;
  readonly #namespace: string;
  readonly #end = new AbortController();
  readonly #looking: Promise<void>;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    const args = [KINDS, `--namespace=${this.#namespace}`, "--show-managed-fields"];
    while (!this.#end.signal.aborted) {
      const at = Date.now();
      // A look that fails is one less.
      const items = await this.#cluster.list<Listed>(args).catch((error) => {
        console.warn(`could not look: ${messageOf(error).slice(0, 200)}`);
      });
      if (items) this.samples.push(new Sample(at, items));
      await sleep(PAUSE_MS);
    }
  }

  /** What is found in the first sample that has it, from this moment on or from an earlier one; fails after the limit. */
  async first<T>(
    find: (sample: Sample) => T | undefined,
    { from = Date.now(), withinMs }: { readonly from?: number; readonly withinMs: number },
  ): Promise<{ readonly value: T; readonly at: number }> {
    const until = Date.now() + withinMs;
    for (let index = 0; ; ) {
      const sample = this.samples[index];
      if (!sample) {
        if (Date.now() > until) throw new Error(`it was not seen within ${withinMs / 1_000} s`);
        await sleep(PAUSE_MS / 4);
        continue;
      }
      index++;
      if (sample.at < from) continue;
      const value = find(sample);
      if (value !== undefined) return { value, at: sample.at };
    }
  }

  /** Those from one moment to another. */
  between(from: number, to: number): readonly Sample[] {
    return this.samples.filter(({ at }) => at >= from && at <= to);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#looking;
  }
}
