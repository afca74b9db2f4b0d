import { Deployment, isNotFound } from "kube-controller-runtime";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { ProvisionerStage } from "../../support/stages/provisioner.ts";

interface Place {
  readonly name: string;
  readonly key: string;
}

/** Pods of one generation of the Deployment: where they read their key, and what it was when they started. */
interface Generation {
  readonly place: Place;
  readonly value: string;
}

const PERIOD_MS = 100;

/**
 * Plays the pods of one provisioner: a new generation of the Deployment is started as soon as its Secret can be
 * read, and takes the place of the one before when coderd lets it in.
 */
export class Pods implements AsyncDisposable {
  readonly #stage: ProvisionerStage;
  readonly #name: string;
  readonly #coderd: readonly CoderdDeployment[];
  readonly #loop: Promise<void>;
  #running: Generation | undefined;
  readonly #stop = new AbortController();

  constructor(stage: ProvisionerStage, name: string, coderd: readonly CoderdDeployment[]) {
    this.#stage = stage;
    this.#name = name;
    this.#coderd = coderd;
    this.#loop = this.#play();
  }

  /**
   * What is wrong at this moment: running pods must be able to reconnect with the key that they have, and any of
   * them to restart with the Secret that it reads.
   */
  async complaints(when: string): Promise<string[]> {
    const pods = this.#running;
    if (!pods) return [];
    const stored = await this.#stage.keyIn(pods.place.name, pods.place.key);
    return [
      ...(this.#isAccepted(pods.value) ? [] : [`after ${when} the key of running pods is not accepted`]),
      ...(this.#isAccepted(stored) ? [] : [`after ${when} the Secret of running pods has no accepted key`]),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #play(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#roll().catch((error) => {
        if (!isNotFound(error)) throw error;
      });
      await this.#stage.clock.sleep(PERIOD_MS, signal).catch(() => {});
    }
  }

  async #roll(): Promise<void> {
    const { metadata, spec, status } = await this.#stage.get(Deployment, `provisioner-${this.#name}`);
    if (status?.observedGeneration === metadata.generation) return;
    const env = spec?.template.spec?.containers[0]?.env ?? [];
    const { name = "", key = "" } =
      env.find((variable) => variable.name === "CODER_PROVISIONER_DAEMON_KEY")?.valueFrom?.secretKeyRef ?? {};
    const value = await this.#stage.keyIn(name, key);
    if (!this.#isAccepted(value)) return;
    this.#running = { place: { name, key }, value: value ?? "" };
    await this.#stage.pods.replace(this.#name);
    await this.#stage.world.markDeploymentReady(this.#stage.namespace, `provisioner-${this.#name}`);
  }

  #isAccepted(value: string | undefined): boolean {
    return value !== undefined && this.#coderd.some((coderd) => coderd.acceptedKey(value) !== undefined);
  }
}
