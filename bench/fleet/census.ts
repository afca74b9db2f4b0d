import { type KubeObject, keyOf, refOf } from "kube-controller-runtime";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import type { Follower } from "../follow.ts";
import type { Report } from "../workload.ts";

/** The pods of every provisioner of a fleet. */
export const DAEMONS = 2;

const TIME_LIMIT_MS = 15 * 60_000;
const REPORT_MS = 15_000;

/** How far one member of a fleet was when, by the clock of whoever counts. */
interface Progress {
  readonly seenAt: number;
  reportedAt?: number;
  convergedAt?: number;
}

/** Counts the members of a fleet that are as they should be. */
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

  /** Returns when all of them have been seen to be so at the same moment; reports now and then how far they are. */
  async complete(report: Report): Promise<void> {
    const progress = setInterval(() => report(this.#progress), REPORT_MS);
    const lateness = setTimeout(() => this.#complete.reject(this.#tooSlow()), TIME_LIMIT_MS);
    await this.#complete.promise.finally(() => {
      clearInterval(progress);
      clearTimeout(lateness);
    });
  }

  /** For each member, the milliseconds from its creation until its first status. */
  get firstStatusMs(): number[] {
    return [...this.#members.values()].map(({ seenAt, reportedAt = Number.NaN }) => reportedAt - seenAt);
  }

  /** For each member, the milliseconds since `startedAt` until it was as it should be. */
  convergedMs(startedAt: number): number[] {
    return [...this.#members.values()].map(({ convergedAt = Number.NaN }) => convergedAt - startedAt);
  }

  /** Nobody waits for it any more. */
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
