import { fileURLToPath } from "node:url";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { TIME_LIMIT } from "./cluster.ts";
import type { Platform } from "./platform.ts";

const TEMPLATE = fileURLToPath(new URL("slow-template", import.meta.url));

/** A build as coderd lists it. */
export interface ListedJob {
  readonly status: string;
  readonly error?: string;
  readonly worker_id?: string;
}

/** Seconds of a build that lasts until a test ends it. */
export const LASTING = 240;

/** Builds that take as long as a test wants. They need a daemon and nothing else. */
export class SlowBuilds {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** A template whose workspaces take this long to start; daemons of the pool build them, which has the tag `pool`. */
  async pushTemplate(name: string, { seconds, pool }: { readonly seconds: number; readonly pool: string }) {
    await this.#platform.admin.cli(
      ...["templates", "push", name, "--directory", TEMPLATE, "--yes"],
      ...["--variable", `seconds=${seconds}`, "--provisioner-tag", `pool=${pool}`],
    );
  }

  /** Asks for a workspace, and does not wait for it. */
  async start(workspace: string, template: string): Promise<void> {
    const { admin } = this.#platform;
    const { id } = await admin.get<{ id: string }>(`/api/v2/organizations/default/templates/${template}`);
    await admin.post("/api/v2/users/me/workspaces", { name: workspace, template_id: id });
  }

  async job(workspace: string): Promise<ListedJob> {
    return (await this.#platform.admin.workspace(workspace)).latest_build.job;
  }

  jobs(workspaces: readonly string[]): Promise<ListedJob[]> {
    return Promise.all(workspaces.map((workspace) => this.job(workspace)));
  }

  async untilSucceeded(workspaces: readonly string[]): Promise<ListedJob[]> {
    return eventually(async () => {
      const jobs = await this.jobs(workspaces);
      expect(jobs.map(({ status, error }) => error || status)).toEqual(workspaces.map(() => "succeeded"));
      return jobs;
    }, TIME_LIMIT);
  }

  async untilOver(workspace: string): Promise<ListedJob> {
    return eventually(async () => {
      const job = await this.job(workspace);
      expect(["succeeded", "failed", "canceled"]).toContain(job.status);
      return job;
    }, TIME_LIMIT);
  }

  /** The pod of the daemon that builds the workspace, once one does. */
  untilBuilding(workspace: string): Promise<string> {
    return eventually(async () => {
      const job = await this.job(workspace);
      expect(job.status).toBe("running");
      return (
        (await this.builders([job]))[0] ?? expect.fail("coderd does not list the daemon that has the job")
      );
    }, TIME_LIMIT);
  }

  /** Ends a build that its daemon works on, however long it would take. */
  async end(workspace: string, builder: string): Promise<void> {
    const { cluster, namespace } = this.#platform;
    await cluster.kubectl([
      "exec",
      `--namespace=${namespace}`,
      builder,
      "--",
      "touch",
      `/tmp/end-${workspace}`,
    ]);
  }

  /** The pods of the daemons that have these jobs. */
  async builders(jobs: readonly ListedJob[]): Promise<string[]> {
    const workers = jobs.map(({ worker_id }) => worker_id);
    return (await this.#platform.admin.daemons())
      .filter(({ id }) => workers.includes(id))
      .map(({ name }) => name)
      .sort();
  }
}
