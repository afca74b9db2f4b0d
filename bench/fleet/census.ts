import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { type KubeObject, keyOf, refOf } from "../../src/runtime/object.ts";
import type { Follower } from "../follow.ts";
import type { Tell } from "../workload.ts";

/** The pods of every provisioner of a fleet. */
export const DAEMONS = 2;

const PATIENCE_MS = 15 * 60_000;
const TELL_MS = 15_000;

/** Counts the members of a fleet that are as they should be. */
export class Census implements Disposable {
  readonly #size: number;
  readonly #controlPlanes = new Set<string>();
  readonly #provisioners = new Set<string>();
  readonly #complete = Promise.withResolvers<void>();

  constructor(size: number) {
    this.#size = size;
  }

  async begin(follower: Follower): Promise<void> {
    await follower.follow(CoderControlPlane, ({ object }) =>
      this.#note(this.#controlPlanes, object, isLicensed(object)),
    );
    await follower.follow(CoderProvisioner, ({ object }) =>
      this.#note(this.#provisioners, object, isServing(object)),
    );
  }

  /** Returns when all of them have been seen to be so at the same moment; tells now and then how far they are. */
  async complete(tell: Tell): Promise<void> {
    const progress = setInterval(() => tell(this.#progress), TELL_MS);
    const lateness = setTimeout(() => this.#complete.reject(this.#tooSlow()), PATIENCE_MS);
    await this.#complete.promise.finally(() => {
      clearInterval(progress);
      clearTimeout(lateness);
    });
  }

  /** Nobody waits for it any more. */
  [Symbol.dispose](): void {
    this.#complete.resolve();
  }

  get #progress(): string {
    return `${this.#controlPlanes.size} control planes and ${this.#provisioners.size} provisioners are ready`;
  }

  #note(counted: Set<string>, object: KubeObject, converged: boolean): void {
    const key = keyOf(refOf(object));
    if (converged) counted.add(key);
    else counted.delete(key);
    if (this.#controlPlanes.size === this.#size && this.#provisioners.size === this.#size)
      this.#complete.resolve();
  }

  #tooSlow(): Error {
    return new Error(`after ${PATIENCE_MS / 60_000} minutes only ${this.#progress}, of ${this.#size} each`);
  }
}

function isLicensed({ status }: CoderControlPlane): boolean {
  return (
    status?.phase === "Ready" && Boolean(status.licenseLastAppliedHash) && status.licenseTier === "premium"
  );
}

function isServing({ status }: CoderProvisioner): boolean {
  return status?.phase === "Ready" && status.readyReplicas === DAEMONS;
}
