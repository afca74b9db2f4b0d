import { fileURLToPath } from "node:url";
import type { V1PersistentVolumeClaim, V1Pod } from "@kubernetes/client-node";
import { eventually } from "kube-controller-runtime/testing";
import { expect } from "vitest";
import { TIME_LIMIT } from "./cluster.ts";
import type { Platform } from "./platform.ts";

const TEMPLATE = fileURLToPath(new URL("../../../lab/workspace-template", import.meta.url));

/** The part of a workspace in which people work, as coderd lists it. */
export interface ListedAgent {
  readonly id: string;
  readonly status: string;
  readonly lifecycle_state: string;
  readonly apps: readonly { readonly slug: string }[];
}

interface ListedWorkspace {
  readonly latest_build: {
    readonly reason: string;
    readonly resources: readonly { readonly agents?: readonly ListedAgent[] }[];
  };
}

/** What the first user of a platform does with templates and workspaces. */
export class Workspaces {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Pushes the template of the lab; the pool with these tags builds its workspaces. */
  async pushTemplate(
    name: string,
    workload: "pod" | "deployment",
    { tags = {}, image }: { readonly tags?: Readonly<Record<string, string>>; readonly image?: string } = {},
  ) {
    const { admin, cluster, namespace, workspaceNamespace } = this.#platform;
    const [coder] = await cluster.list<V1Pod>([
      "pods",
      `--namespace=${namespace}`,
      "--selector=app.kubernetes.io/name=coder-control-plane",
    ]);
    const variables = {
      namespace: workspaceNamespace,
      image: image ?? coder?.spec?.containers[0]?.image ?? "",
      workload,
    };
    await admin.cli(
      ...["templates", "push", name, "--directory", TEMPLATE, "--yes"],
      ...flags("--variable", variables),
      ...flags("--provisioner-tag", tags),
    );
  }

  create(name: string, template: string): Promise<string> {
    return this.#platform.admin.cli("create", name, "--template", template, "--yes");
  }

  /** Runs a line of shell in a workspace and returns what it printed. */
  async ssh(name: string, line: string): Promise<string> {
    return (await this.#platform.admin.cli("ssh", "--wait", "yes", name, "--", line)).trim();
  }

  /** Its pods that are not on their way out. */
  async pods(workspace: string): Promise<V1Pod[]> {
    const all = await this.#list<V1Pod>("pods", workspace);
    return all.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  }

  claims(workspace: string): Promise<readonly V1PersistentVolumeClaim[]> {
    return this.#list("persistentvolumeclaims", workspace);
  }

  /** Its pods, including terminating ones, once there are this many. */
  untilPods(workspace: string, count: number): Promise<readonly V1Pod[]> {
    return eventually(async () => {
      const pods = await this.#list<V1Pod>("pods", workspace);
      expect(pods).toHaveLength(count);
      return pods;
    }, TIME_LIMIT);
  }

  async agent(workspace: string): Promise<ListedAgent> {
    const [agent] = (await this.latestBuild(workspace)).resources.flatMap(({ agents = [] }) => agents);
    return agent ?? expect.fail(`workspace ${workspace} has no agent`);
  }

  async latestBuild(workspace: string): Promise<ListedWorkspace["latest_build"]> {
    const path = `/api/v2/users/me/workspace/${workspace}`;
    return (await this.#platform.admin.get<ListedWorkspace>(path)).latest_build;
  }

  #list<T>(resource: string, workspace: string): Promise<readonly T[]> {
    const { cluster, workspaceNamespace } = this.#platform;
    const selector = `--selector=com.coder.workspace.name=${workspace}`;
    return cluster.list<T>([resource, `--namespace=${workspaceNamespace}`, selector]);
  }
}

function flags(flag: string, values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
}
