import { type Client, type Clock, Deployment, type Stored } from "kube-controller-runtime";

const PERIOD_MS = 1_000;

/** Where Deployments are played: a namespace and its time. */
interface Place {
  readonly person: Client;
  readonly namespace: string;
  readonly clock: Clock;
}

/** Simulations of the pods of Deployments; each is called once a second. */
export interface Player {
  /** Starts the pods that a Deployment lacks, and lets those go that it has too many of. */
  readonly resize: (deployment: Stored<Deployment>) => Promise<void>;
  /** Lets all pods live for a moment, those of Deployments that are gone too. */
  readonly live: (deployments: readonly Stored<Deployment>[]) => Promise<void>;
  /** What Kubernetes would report of a Deployment now. */
  readonly statusOf: (deployment: Stored<Deployment>) => object;
}

/** Plays what Kubernetes does with the Deployments of a namespace, until it is disposed of. */
export class PlayedDeployments implements AsyncDisposable {
  readonly #place: Place;
  readonly #player: Player;
  readonly #stop = new AbortController();
  readonly #reports = new Map<string, string>();
  readonly #loop: Promise<void>;

  constructor(place: Place, player: Player) {
    this.#place = place;
    this.#player = player;
    this.#loop = this.#play();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #play(): Promise<void> {
    const { person, namespace, clock } = this.#place;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const { items } = await person.list(Deployment, { namespace });
      for (const deployment of items) await this.#player.resize(deployment);
      await this.#player.live(items);
      for (const deployment of items) await this.#report(deployment);
      await clock.sleep(PERIOD_MS, signal).catch(() => {});
    }
  }

  async #report(deployment: Stored<Deployment>): Promise<void> {
    const { namespace, name, generation = 0 } = deployment.metadata;
    const status = { observedGeneration: generation, ...this.#player.statusOf(deployment) };
    const said = JSON.stringify(status);
    if (this.#reports.get(name) === said) return;
    this.#reports.set(name, said);
    await this.#place.person.patchStatus(Deployment, { namespace, name }, { status });
  }
}

/** The status of a Deployment with this many pods. */
export function statusOfPods({
  all,
  updated,
  ready,
  isRolledOut,
}: {
  readonly all: number;
  readonly updated: number;
  readonly ready: number;
  readonly isRolledOut: boolean;
}): object {
  const reason = isRolledOut ? "NewReplicaSetAvailable" : "ReplicaSetUpdated";
  return {
    replicas: all,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    conditions: [{ type: "Progressing", status: "True", reason }],
  };
}
