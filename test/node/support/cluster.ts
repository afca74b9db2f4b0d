import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { inject } from "vitest";
import type { TestCluster } from "./test-cluster.ts";

/** Generous, because the machine may be busy: images are large and probes have periods. */
export const TIME_LIMIT = { withinMs: 90_000 };

/** A cluster whose pods run, by the hand of its admin. Everything goes through kubectl, as on any cluster. */
export class Cluster {
  readonly place: TestCluster;

  constructor(place: TestCluster = inject("place")) {
    this.place = place;
  }

  /** Runs kubectl and returns what it printed; fails with its words. */
  async kubectl(args: readonly string[], stdin = ""): Promise<string> {
    const { kubectl, kubeconfig } = this.place;
    const options = { maxBuffer: 1 << 26, env: { ...process.env, KUBECONFIG: kubeconfig, KUBERC: "off" } };
    const running = promisify(execFile)(kubectl, [...args], options);
    running.child.stdin?.on("error", () => {}).end(stdin);
    return (await running).stdout;
  }

  apply(manifest: object): Promise<string> {
    return this.kubectl(["apply", "--server-side", "--filename=-"], JSON.stringify(manifest));
  }

  /** Whatever kubectl selects, as objects. */
  async get<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.kubectl(["get", "--output=json", ...args])) as T;
  }

  async list<T>(args: readonly string[]): Promise<readonly T[]> {
    return (await this.get<{ items: readonly T[] }>(args)).items;
  }

  /** A namespace of its own, which goes with what is in it. */
  async namespace(prefix: string): Promise<string> {
    const name = `${prefix}-${randomBytes(3).toString("hex")}`;
    await this.kubectl(["create", "namespace", name]);
    return name;
  }
}
