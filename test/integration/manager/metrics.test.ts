import type { Kind, KubeObject } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeLicense } from "../../../lab/coderd/licenses.ts";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import { CoderProvisioner, CoderWorkspaceProxy } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { queries } from "../../support/monitoring.ts";
import { parseQuery } from "../../support/promql.ts";
import { type Coderd, type CoderdStage, openCoderdStage } from "../coderd/stage.ts";

const TIME_LIMIT = { withinMs: 30_000 };
const DAY_MS = 24 * 60 * 60 * 1_000;

let stage: CoderdStage;
let coderd: Coderd;
let operator: OperatorProcess;
beforeAll(async () => {
  stage = await openCoderdStage(sharedCluster(), "metrics", { operator: false });
  coderd = await stage.coderd("coder");
  operator = await startOperatorProcess(stage.world.cluster, [
    `--namespaces=${stage.namespace}`,
    `--coderd-access=${stage.world.server.url}`,
    "--no-leader-elect",
    "--log-level=debug",
  ]);
  await stage.putSecret("license", { license: fakeLicense({ expiresInMs: 30 * DAY_MS }) });
  await stage.serve("coder", coderd, { licenseSecretRef: { name: "license" }, replicas: 2 });
  await createNaming(CoderProvisioner, "pool");
  await createNaming(CoderWorkspaceProxy, "sydney");
  await stage.untilStatus("coder", { licenseTier: "premium" });
  for (const name of ["provisioner-pool", "wsproxy-sydney"]) await stage.untilServing(name);
  for (const kind of [CoderProvisioner, CoderWorkspaceProxy]) await untilServing(kind);
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

/** Makes an object that works for the control plane. */
function createNaming(kind: Kind<CoderProvisioner | CoderWorkspaceProxy>, name: string): Promise<unknown> {
  const { apiVersion, kind: word } = kind;
  const spec = { controlPlaneRef: { name: "coder" } };
  return stage.person.create(kind, { apiVersion, kind: word, metadata: stage.ref(name), spec });
}

function untilServing(kind: Kind<CoderProvisioner | CoderWorkspaceProxy>): Promise<void> {
  return eventually(async () => {
    const { items } = await stage.person.list(kind, { namespace: stage.namespace });
    expect(items.map(({ status }) => status?.readyReplicas)).toEqual([1]);
  }, TIME_LIMIT);
}

/** The samples of a metric: its value by the values of the labels that the object's own leave. */
async function samples(name: string): Promise<Record<string, number>> {
  const lines = (await operator.metrics()).split("\n").filter((line) => line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = "", value] = /\{(.*)\} (\S+)$/.exec(line) ?? [];
      expect(labels).toContain(`namespace="${stage.namespace}"`);
      const words = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => label !== "namespace");
      return [words.map(([, , word]) => word).join(" "), Number(value)];
    }),
  );
}

test("every metric that the chart's alerts and dashboard read is one that the operator serves", async () => {
  const exposition = await operator.metrics();
  const types = [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const parts = (type = "") => (type === "histogram" ? ["_bucket", "_sum", "_count"] : [""]);
  const served = types.flatMap(([, name, type]) => parts(type).map((part) => `${name}${part}`));
  const read = new Set(
    queries.flatMap(({ query }) => parseQuery(query).selectors.map(({ metric }) => metric)),
  );
  read.delete("up");
  expect(read.size).toBeGreaterThan(20);
  expect(served).toEqual(expect.arrayContaining([...read]));
});

describe("of each object the operator exports", () => {
  test("its phase", async () => {
    await eventually(
      async () =>
        expect(await samples("coder_k8s_object_phase")).toEqual({
          "CoderControlPlane coder Ready": 1,
          "CoderProvisioner pool Ready": 1,
          "CoderWorkspaceProxy sydney Ready": 1,
        }),
      TIME_LIMIT,
    );
  });

  test("its conditions, as its status has them", async () => {
    const { status } = await stage.controlPlane("coder");
    const reported = Object.keys(await samples("coder_k8s_object_condition"));
    const expected = (status?.conditions ?? []).map(
      ({ type, status, reason }) => `CoderControlPlane coder ${type} ${status} ${reason}`,
    );
    expect(reported.filter((labels) => labels.startsWith("CoderControlPlane"))).toEqual(expected);
    expect(reported).toContainEqual(expect.stringMatching(/^CoderProvisioner pool DeploymentReady True/));
    expect(reported).toContainEqual(
      expect.stringMatching(/^CoderWorkspaceProxy sydney Healthy False NotReported$/),
    );
  });

  test("its pods, those that are ready and those that should be", async () => {
    expect(await samples("coder_k8s_object_ready_replicas")).toMatchObject({ "CoderProvisioner pool": 1 });
    expect(await samples("coder_k8s_object_desired_replicas")).toEqual({
      "CoderControlPlane coder": 2,
      "CoderProvisioner pool": 1,
      "CoderWorkspaceProxy sydney": 1,
    });
  });

  test("when it was last synced", async () => {
    const syncs = await samples("coder_k8s_object_last_successful_sync_timestamp_seconds");
    expect(Object.keys(syncs)).toHaveLength(3);
    for (const sync of Object.values(syncs)) expect(Math.abs(Date.now() / 1_000 - sync)).toBeLessThan(300);
  });

  test("the tier and the end of the license, and when the provisioner's key was made", async () => {
    expect(await samples("coder_k8s_license_tier")).toEqual({ "CoderControlPlane coder premium": 1 });
    const [license] = coderd.deployment.licenses;
    expect(await samples("coder_k8s_license_expiry_timestamp_seconds")).toEqual({
      "CoderControlPlane coder": license?.claims.license_expires,
    });
    const [key] = coderd.deployment.keys;
    expect(await samples("coder_k8s_provisioner_key_created_timestamp_seconds")).toEqual({
      "CoderProvisioner pool": Date.parse(key?.created_at ?? "") / 1_000,
    });
  });

  test("no secret", async () => {
    stage.secrets.add(await stage.token("coder-operator-token"));
    for (const { plaintext } of coderd.deployment.keys) stage.secrets.add(plaintext);
    expect(stage.secrets.foundIn(await operator.metrics())).toEqual([]);
  });

  test("nothing more once it is deleted", async () => {
    await stage.person.delete(CoderProvisioner, stage.ref("pool"));
    await stage.untilGone(CoderProvisioner as Kind<KubeObject>, "pool");
    await eventually(async () => expect(await operator.metrics()).not.toContain('name="pool"'), TIME_LIMIT);
  });
});
