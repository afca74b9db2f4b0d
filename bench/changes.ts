import { type Client, Deployment } from "kube-controller-runtime";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";
import type { Follower } from "./follow.ts";

const MAX_REPLICAS = 9;

/** The number of replicas of a Deployment, and the generation of its spec that set it. */
interface Wish {
  readonly replicas: number;
  readonly generation: number;
}

interface Awaited {
  readonly isFulfilled: (wish: Wish) => boolean;
  readonly seen: () => void;
}

/** Changes control planes and their Deployments like a user, and waits for the operator's reaction. */
export class Changes {
  readonly #person: Client;
  readonly #namespace: string;
  readonly #wishes = new Map<string, Wish>();
  readonly #awaited = new Map<string, Awaited>();

  constructor(person: Client, namespace: string) {
    this.#person = person;
    this.#namespace = namespace;
  }

  async begin(follower: Follower): Promise<void> {
    await follower.follow(Deployment, ({ object: { metadata, spec } }) => {
      if (metadata.namespace !== this.#namespace) return;
      this.#note(metadata.name, { replicas: spec?.replicas ?? 1, generation: metadata.generation ?? 0 });
    });
  }

  /** Changes the number of replicas; resolves once the Deployment has it. */
  async make(name: string): Promise<void> {
    const replicas = (this.#replicasOf(name) % MAX_REPLICAS) + 1;
    const seen = this.#until(name, (wish) => wish.replicas === replicas);
    const ref = { namespace: this.#namespace, name };
    await this.#person.mergePatch(CoderControlPlane, ref, { spec: { replicas } });
    await seen;
  }

  /** Scales the Deployment directly; resolves once the operator has reverted it. */
  async makeDrift(name: string): Promise<void> {
    const replicas = this.#replicasOf(name);
    const ref = { namespace: this.#namespace, name };
    const { metadata } = await this.#person.mergePatch(Deployment, ref, { spec: { replicas: replicas + 1 } });
    const drifted = metadata.generation ?? 0;
    await this.#until(name, (wish) => wish.generation > drifted && wish.replicas === replicas);
  }

  #replicasOf(name: string): number {
    return this.#wishes.get(name)?.replicas ?? 1;
  }

  #until(name: string, isFulfilled: Awaited["isFulfilled"]): Promise<void> {
    const wish = this.#wishes.get(name);
    if (wish && isFulfilled(wish)) return Promise.resolve();
    return new Promise((seen) => this.#awaited.set(name, { isFulfilled, seen }));
  }

  #note(name: string, wish: Wish): void {
    this.#wishes.set(name, wish);
    const awaited = this.#awaited.get(name);
    if (awaited?.isFulfilled(wish)) awaited.seen();
  }
}
