import { randomUUID } from "node:crypto";
import type { Tags } from "../../src/coder/provisioning.ts";
import { matchesTags } from "../../src/coder/tags.ts";

/** A worker that takes jobs. */
interface Worker {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
  readonly key: { readonly organization: string };
}

type JobStatus = "pending" | "running" | "succeeded" | "canceling" | "canceled" | "failed";

/** A job for a daemon, with the state that coderd's database would have. */
export interface SimulatedJob {
  readonly id: string;
  readonly organization: string;
  readonly createdAt: number;
  readonly tags: Tags;
  readonly type: string;
  /** Created by coderd to maintain prebuilt workspaces: all other jobs take precedence. */
  readonly isPrebuild: boolean;
  readonly fileId: string;
  readonly templateName: string;
  readonly workspaceName: string;
  status: JobStatus;
  startedAt?: number;
  completedAt?: number;
  canceledAt?: number;
  worker?: Worker;
}

type NewJob = Pick<SimulatedJob, "organization"> &
  Partial<Pick<SimulatedJob, "tags" | "type" | "isPrebuild" | "fileId" | "templateName" | "workspaceName">>;

/** All jobs of a simulated coderd, oldest first. */
export class Jobs {
  readonly #now: () => number;
  readonly #all: SimulatedJob[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Creates a job, with the scope of the organization unless it belongs to one user. */
  submit({ tags = {}, ...job }: NewJob): SimulatedJob {
    const submitted: SimulatedJob = {
      id: randomUUID(),
      createdAt: this.#now(),
      type: "workspace_build",
      isPrebuild: false,
      fileId: randomUUID(),
      templateName: "",
      workspaceName: "",
      status: "pending",
      ...job,
      tags: tags.scope === "user" ? tags : { ...tags, scope: "organization", owner: "" },
    };
    this.#all.push(submitted);
    return submitted;
  }

  of(organization: string): SimulatedJob[] {
    return this.#all.filter((job) => job.organization === organization);
  }

  /** The waiting jobs of the whole deployment, in the order in which daemons take them. */
  get queue(): SimulatedJob[] {
    const pending = this.#all.filter(({ status }) => status === "pending");
    return pending.sort((a, b) => Number(a.isPrebuild) - Number(b.isPrebuild) || a.createdAt - b.createdAt);
  }

  currentOf({ id }: Worker): SimulatedJob | undefined {
    return this.#all.find(({ worker, completedAt }) => worker?.id === id && completedAt === undefined);
  }

  previousOf({ id }: Worker): SimulatedJob | undefined {
    return this.#all.findLast(({ worker, completedAt }) => worker?.id === id && completedAt !== undefined);
  }

  /** Simulates an idle daemon: takes the first suitable job, if there is one. */
  acquire(daemon: Worker): SimulatedJob | undefined {
    if (this.currentOf(daemon)) return undefined;
    const job = this.queue.find(
      ({ organization, tags }) => organization === daemon.key.organization && matchesTags(daemon.tags, tags),
    );
    return job && Object.assign(job, { status: "running", startedAt: this.#now(), worker: daemon });
  }

  finish(job: SimulatedJob, status: "succeeded" | "failed" | "canceled" = "succeeded"): void {
    Object.assign(job, { status, completedAt: this.#now() });
  }

  /** Cancels a job. A daemon that runs it needs some time to stop. */
  cancel(job: SimulatedJob): void {
    job.canceledAt = this.#now();
    if (job.status === "running") job.status = "canceling";
    else this.finish(job, "canceled");
  }
}
