import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, findCondition } from "kube-controller-runtime";
import { adminClient, eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aControlPlane } from "../../lab/builders.ts";
import { type OperatorProcess, startOperatorProcess } from "../../lab/operator-process.ts";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { bundle } from "../../tools/build/bundle.ts";
import { sharedCluster } from "../support/cluster/shared.ts";
import { essenceOfChildren } from "../support/dump.ts";

const TIME_LIMIT = { withinMs: 30_000 };
const cluster = sharedCluster();

let dir: string;
let namespace: string;
let person: Client;
let operator: OperatorProcess;
beforeAll(async () => {
  // Away from the repository, so that it can't borrow from the sources or their dependencies.
  dir = await mkdtemp(join(tmpdir(), "coder-k8s-bundle-"));
  const file = join(dir, "coder-k8s.mjs");
  [namespace, person] = await Promise.all([
    cluster.createNamespace("bundle"),
    adminClient(cluster),
    bundle(file),
  ]);
  const flags = [`--namespaces=${namespace}`, `--leader-election-namespace=${namespace}`];
  operator = await startOperatorProcess(cluster, flags, file);
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

test("what a release runs makes a control plane's children and reports when they serve", async () => {
  const spec = { expose: { ingress: { host: "coder.example.com" } }, operatorAccess: { disabled: true } };
  await person.create(CoderControlPlane, aControlPlane({ namespace, spec }));
  await eventually(
    async () => expect(await essenceOfChildren(person, { namespace, name: "coder" })).toHaveLength(6),
    TIME_LIMIT,
  );
  await cluster.markDeploymentReady(namespace, "coder");
  await eventually(async () => {
    const { status } = await person.get(CoderControlPlane, { namespace, name: "coder" });
    expect(findCondition(status?.conditions, "Ready")).toMatchObject({ status: "True" });
  }, TIME_LIMIT);
});

test("it counts its work for Prometheus", async () => {
  expect(await operator.metrics()).toMatch(/^coder_k8s_reconcile_total\{.*\} [1-9]/m);
});

test("SIGTERM ends it in order: the Lease is given back and the exit code is 0", async () => {
  await operator.stop("SIGTERM");
  expect(operator.program.exitCode).toBe(0);
  const { stdout } = await cluster.kubectl(["get", "lease", "-n", namespace, "-o", "json"]);
  expect(JSON.parse(stdout).items[0].spec.holderIdentity ?? "").toBe("");
});
