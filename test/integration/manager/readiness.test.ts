import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, onFreePort, silentLog } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runController } from "../../../src/cli/controller.ts";
import { commandLine } from "../../../src/cli/options.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { type FaultProxy, startFaultProxy } from "../../support/fault-proxy.ts";

const METRICS = [
  "coder_k8s_api_requests_total",
  "coder_k8s_cache_objects",
  "coder_k8s_leader",
  "coder_k8s_reconcile_duration_seconds",
  "coder_k8s_reconcile_total",
  "coder_k8s_watch_restarts_total",
  "process_resident_memory_bytes",
  "workqueue_adds_total",
  "workqueue_depth",
  "workqueue_queue_duration_seconds",
  "workqueue_retries_total",
  "workqueue_work_duration_seconds",
];

const cluster = sharedCluster();
let proxy: FaultProxy;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-readiness-"));
  proxy = await startFaultProxy(cluster);
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

test("HTTP is served before the API server can be reached, names missing caches, and stops last", async () => {
  const [probes, metrics] = [await onFreePort(async (port) => port), await onFreePort(async (port) => port)];
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const program = commandLine({
    version: "test",
    runController: async (options) => {
      const { signal } = stop;
      running = runController(options, { version: "test", podNamespace: undefined, signal, log: silentLog });
    },
  });
  const [kubeconfig, namespace] = [join(dir, "kubeconfig"), await cluster.createNamespace("readiness")];
  await writeFile(kubeconfig, proxy.kubeconfig({ token: cluster.operator.token }), { mode: 0o600 });
  proxy.fault = { do: "refuse" };
  await program.parseAsync([
    "node",
    "coder-k8s",
    "controller",
    `--kubeconfig=${kubeconfig}`,
    `--namespaces=${namespace}`,
    `--health-probe-bind-address=127.0.0.1:${probes}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
    "--no-leader-elect",
    "--log-level=error",
  ]);
  const get = (path: string) => fetch(`http://127.0.0.1:${probes}${path}`);
  const missing = await eventually(
    async () => {
      const answer = await get("/readyz");
      expect(answer.status).toBe(500);
      return answer.text();
    },
    { withinMs: 20_000 },
  );
  for (const kind of ["codercontrolplanes.coder.com", "deployments.apps", "secrets"])
    expect(missing).toContain(kind);
  expect((await get("/healthz")).status).toBe(200);

  proxy.fault = undefined;
  await eventually(async () => expect((await get("/readyz")).status).toBe(200), { withinMs: 40_000 });
  const exposition = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  for (const name of METRICS) expect(exposition, name).toMatch(new RegExp(`^# TYPE ${name} `, "m"));
  expect(exposition).toMatch(
    /^coder_k8s_watch_restarts_total\{resource="codercontrolplanes.coder.com",reason="Unreachable"\} [1-9]/m,
  );

  stop.abort();
  await running;
  await expect(get("/healthz")).rejects.toThrow();
});
