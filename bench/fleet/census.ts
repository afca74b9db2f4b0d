import { type KubeObject, keyOf, refOf } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import type { Follower } from "../follow.ts";
import type { Report } from "../workload.ts";

/** The number of pods of each provisioner. */
export const DAEMONS = 2;

const TIME_LIMIT_MS = 15 * 60_000;
const REPORT_MS = 15_000;

/** The progress of one member of a fleet, by the clock of the caller. */
interface Progress {
  readonly seenAt: number;
  reportedAt?: number;
  convergedAt?: number;
}

/** Counts the converged members of a fleet. */
export class Census implements Disposable {
  readonly #size: number;
  readonly #controlPlanes = new Set<string>();
  readonly #provisioners = new Set<string>();
  readonly #members = new Map<string, Progress>();
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

  /** Resolves when all of them are converged at the same moment; reports the progress at intervals. */
  async complete(report: Report): Promise<void> {
    const progress = setInterval(() => report(this.#progress), REPORT_MS);
    const lateness = setTimeout(() => this.#complete.reject(this.#tooSlow()), TIME_LIMIT_MS);
    await this.#complete.promise.finally(() => {
      clearInterval(progress);
      clearTimeout(lateness);
    });
  }

  /** For each member, the milliseconds from its creation to its first status. */
  get firstStatusMs(): number[] {
    return [...this.#members.values()].map(({ seenAt, reportedAt = Number.NaN }) => reportedAt - seenAt);
  }

  /** For each member, the milliseconds from `startedAt` until it converged. */
  convergedMs(startedAt: number): number[] {
    return [...this.#members.values()].map(({ convergedAt = Number.NaN }) => convergedAt - startedAt);
  }

  /** Stops waiting. */
  [Symbol.dispose](): void {
    this.#complete.resolve();
  }

  get #progress(): string {
    return `${this.#controlPlanes.size} control planes and ${this.#provisioners.size} provisioners are ready`;
  }

  #note(counted: Set<string>, object: KubeObject & { status?: object }, converged: boolean): void {
    const key = keyOf(refOf(object));
    const member = this.#members.get(key) ?? { seenAt: performance.now() };
    this.#members.set(key, member);
    if (object.status) member.reportedAt ??= performance.now();
    if (converged) member.convergedAt ??= performance.now();
    if (converged) counted.add(key);
    else counted.delete(key);
    if (this.#controlPlanes.size === this.#size && this.#provisioners.size === this.#size)
      this.#complete.resolve();
  }

  #tooSlow(): Error {
    return new Error(`after ${TIME_LIMIT_MS / 60_000} minutes only ${this.#progress}, of ${this.#size} each`);
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
