import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, CoreEvent, timestamp } from "kube-controller-runtime";
import { adminClient, type LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { bundlePlugin } from "../../tools/plugin/bundle.ts";
import { untilCalm } from "../proc.ts";
import { concurrently, median, timed, type Workload } from "../workload.ts";

const CONTROL_PLANES = 200;
const AT_ONCE = 20;

/** The duration of `kubectl coder`, from the start to the end of the process. */
export const plugin: Workload = {
  name: "plugin",
  title: "kubectl coder",
  async run({ runs }, report) {
    await using owned = new AsyncDisposableStack();
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-bench-"));
    owned.defer(() => rm(dir, { recursive: true }));
    const file = join(dir, "kubectl-coder");
    await bundlePlugin(file);
    const cluster = owned.use(await startOperatorCluster());
    const client = await adminClient(cluster);
    await concurrently(CONTROL_PLANES, AT_ONCE, (index) => controlPlane(client, cluster, index));
    report(`${CONTROL_PLANES} control planes with a pool and events`);
    await untilCalm(cluster.apiServerPid);
    const samples = { start: [] as number[], table: [] as number[], json: [] as number[] };
    const env = { ...process.env, KUBECONFIG: cluster.admin.kubeconfig };
    const run = (...words: string[]) => timed(() => finished(file, words, env));
    for (let turn = 1; turn <= runs; turn++) {
      samples.start.push(await run("--version"));
      samples.table.push(await run("status", "-A"));
      samples.json.push(await run("status", "-A", "-o", "json"));
      report(`run ${turn} of ${runs}`);
    }
    return [
      { what: "start to end of --version", value: median(samples.start), unit: "ms", limit: 150 },
      {
        what: `status of ${CONTROL_PLANES} control planes`,
        value: median(samples.table) / 1_000,
        unit: "s",
        limit: 2,
      },
      {
        what: "the same with all details, as JSON",
        value: median(samples.json) / 1_000,
        unit: "s",
        limit: 2,
      },
    ];
  },
};

/** Some of them have a problem, which is an exit code but not a failure. */
async function finished(file: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const call = promisify(execFile)(process.execPath, [file, ...words], { env, maxBuffer: 64 * 1024 * 1024 });
  await call.catch((error: { code?: number }) => {
    if (error.code !== 3) throw error;
  });
}

/** Each in its own namespace, with the status that an operator would report. */
async function controlPlane(client: Client, cluster: LocalCluster, index: number): Promise<void> {
  const namespace = await cluster.createNamespace(`team-${index}`);
  const at = timestamp(Date.now());
  const good = index % 20 !== 0;
  const condition = (type: string) => ({
    ...{ type, status: good ? "True" : "False", reason: good ? "Serving" : "Stalled" },
    ...{ message: "The pods are as the spec says, or they are not.", lastTransitionTime: at },
  });
  const types = ["ServiceReady", "DeploymentReady", "Available", "OperatorAccessReady", "Healthy", "Ready"];
  const status = { phase: "Ready", readyReplicas: 1, version: "v2.24.1", conditions: types.map(condition) };
  const ref = { namespace, name: "coder" };
  await client.create(CoderControlPlane, { metadata: ref, spec: { image: "coder:v2.24.1" } });
  await client.patchStatus(CoderControlPlane, ref, { status });
  await client.create(CoderProvisioner, { metadata: ref, spec: { controlPlaneRef: { name: "coder" } } });
  await client.patchStatus(CoderProvisioner, ref, {
    status: { readyReplicas: 1, conditions: types.map(condition) },
  });
  for (const { kind, apiVersion } of [CoderControlPlane, CoderProvisioner]) {
    await client.create(CoreEvent, {
      metadata: { namespace, name: `coder.${kind.toLowerCase()}` },
      involvedObject: { apiVersion, kind, namespace, name: "coder" },
      ...{ type: "Normal", reason: "Created", message: "Created its children.", lastTimestamp: at, count: 1 },
    });
  }
}
