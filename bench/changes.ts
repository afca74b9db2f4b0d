import { type Client, Deployment } from "kube-controller-runtime";
import { CoderControlPlane } from "../src/api/v1alpha1/kinds.ts";
import type { Follower } from "./follow.ts";

const MOST_REPLICAS = 9;

interface Awaited {
  readonly replicas: number;
  readonly seen: () => void;
}

/** Changes control planes of a namespace as a person does, and sees when the operator has acted on it. */
export class Changes {
  readonly #person: Client;
  readonly #namespace: string;
  readonly #replicas = new Map<string, number>();
  readonly #awaited = new Map<string, Awaited>();

  constructor(person: Client, namespace: string) {
    this.#person = person;
    this.#namespace = namespace;
  }

  async begin(follower: Follower): Promise<void> {
    await follower.follow(Deployment, ({ object: { metadata, spec } }) => {
      if (metadata.namespace === this.#namespace) this.#note(metadata.name, spec?.replicas ?? 1);
    });
  }

  /** Asks for another number of pods; returns once the Deployment has it. */
  async make(name: string): Promise<void> {
    const replicas = ((this.#replicas.get(name) ?? 1) % MOST_REPLICAS) + 1;
    const seen = new Promise<void>((resolve) => this.#awaited.set(name, { replicas, seen: resolve }));
    const ref = { namespace: this.#namespace, name };
    await this.#person.mergePatch(CoderControlPlane, ref, { spec: { replicas } });
    await seen;
  }

  #note(name: string, replicas: number): void {
    this.#replicas.set(name, replicas);
    const awaited = this.#awaited.get(name);
    if (awaited?.replicas === replicas) awaited.seen();
  }
}
