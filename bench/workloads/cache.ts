import { type ChildProcess, spawn } from "node:child_process";
import { on } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { adminClient } from "kube-controller-runtime/testing";
import { aControlPlane } from "../../lab/builders.ts";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { bundle } from "../../tools/build/bundle.ts";
import { controlPlaneName } from "../fleet/names.ts";
import { settledResident } from "../proc.ts";
import { concurrently, timed, type Workload } from "../workload.ts";

const READER = fileURLToPath(new URL("../../dist/bench-cache-reader.mjs", import.meta.url));
/** As set by the operator: see `src/main.ts`. */
const FLAGS = ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering"];
const WRITERS = 16;

/** A cache of many objects: its initial sync, its memory, and its updates. */
export const manyObjects: Workload = {
  name: "cache",
  title: "A cache of many objects",
  async run({ objects }, report) {
    await bundle(READER, { entry: "bench/cache-reader.ts" });
    await using cluster = await startOperatorCluster();
    const person = await adminClient(cluster);
    const namespace = await cluster.createNamespace("many");
    report(`creating ${objects} control planes`);
    await concurrently(objects, WRITERS, (index) =>
      person.create(CoderControlPlane, aControlPlane({ namespace, name: controlPlaneName(index) })),
    );
    await using reader = new Reader(cluster.admin.kubeconfig);
    const { synced, syncMs } = await reader.next();
    if (synced !== objects) throw new Error(`the cache holds ${synced} of ${objects} objects`);
    const memory = await settledResident(reader.pid);
    const update = (round: number) =>
      concurrently(objects, WRITERS, (index) =>
        person.mergePatch(
          CoderControlPlane,
          { namespace, name: controlPlaneName(index) },
          { spec: { replicas: round } },
        ),
      );
    report("changing each, while the cache watches");
    const liveMs = await timed(() => Promise.all([update(2), reader.until(objects)]));
    report("changing each, while the cache is stopped");
    reader.signal("SIGSTOP");
    await update(3);
    reader.signal("SIGCONT");
    const catchUpMs = await timed(() => reader.until(2 * objects));
    return [
      { what: `first sync of ${objects} objects`, value: (syncMs ?? Number.NaN) / 1_000, unit: "s" },
      { what: "resident memory with them", value: memory, unit: "MB" },
      { what: "changes seen while they are written", value: objects / (liveMs / 1_000), unit: "/s" },
      { what: "changes seen when catching up", value: objects / (catchUpMs / 1_000), unit: "/s" },
    ];
  },
};

interface Report {
  readonly synced?: number;
  readonly syncMs?: number;
  readonly updates?: number;
}

/** A process with only a cache, which reports its progress. */
class Reader implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #reports: AsyncIterator<unknown>;

  constructor(kubeconfig: string) {
    const args = [...FLAGS, READER, kubeconfig];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    if (!this.#child.stdout) throw new Error("the reader has no output");
    this.#reports = on(createInterface(this.#child.stdout), "line");
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async next(): Promise<Report> {
    const { value } = await this.#reports.next();
    return JSON.parse(String((value as string[])[0])) as Report;
  }

  /** Waits until it has received this many updates since its start. */
  async until(updates: number): Promise<void> {
    while (((await this.next()).updates ?? 0) < updates);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
  }
}
