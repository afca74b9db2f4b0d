import { type Kind, type KubeObject, Secret, Store, type Stored } from "kube-controller-runtime";
import { VirtualClock } from "kube-controller-runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy } from "../../api/v1alpha1/kinds.ts";
import { OperatorMetrics } from "./metrics.ts";

const URL = "http://coder.n.svc.cluster.local:80";
const condition = {
  type: "Ready",
  status: "False",
  reason: "NoReplicaReady",
  message: "no pod is ready",
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;

let clock: VirtualClock;
let metrics: OperatorMetrics;
let version = 0;
const stores = new Map<Kind, Store<KubeObject>>();

beforeEach(() => {
  clock = new VirtualClock();
  metrics = new OperatorMetrics({ clock });
  for (const kind of [CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy, Secret] as Kind[]) {
    const store = new Store<KubeObject>();
    stores.set(kind, store);
    metrics.cached(kind, store);
  }
  metrics.leading(true);
});

function put<T extends KubeObject>(kind: Kind<T>, content: Partial<T> = {}, name = "coder"): void {
  const resourceVersion = `${++version}`;
  const uid = stores.get(kind as Kind)?.get(`n/${name}`)?.metadata.uid ?? `made at ${resourceVersion}`;
  const metadata = { ...content.metadata, namespace: "n", name, uid, resourceVersion };
  stores.get(kind as Kind)?.remember({ ...content, metadata } as Stored<T>, { by: "create" });
}

function remove(kind: Kind, name = "coder"): void {
  const store = stores.get(kind);
  store?.forget(`n/${name}`, store.get(`n/${name}`)?.metadata.uid ?? "");
}

function finish(kind: Kind, result: "success" | "error", name = "coder"): void {
  const run = { kind, key: `n/${name}`, durationMs: 1 };
  if (result === "success") metrics.reconciled("any", { ...run, result });
  else metrics.reconciled("any", { ...run, result, error: new Error("x"), retryInMs: 1, failures: 1 });
}

/** Samples of a metric without its name. */
async function samples(name: string): Promise<string[]> {
  const lines = (await metrics.registry.metrics()).split("\n");
  return lines.filter((line) => line.startsWith(`${name}{`)).map((line) => line.slice(name.length));
}

const own = (kind: string, name = "coder") => `kind="${kind}",namespace="n",name="${name}"`;

describe("of an object", () => {
  it("show the phase and the conditions as they are at the scrape, and no state that is over", async () => {
    put(CoderControlPlane, { status: { phase: "Pending", conditions: [condition] } });
    await samples("coder_k8s_object_phase");
    put(CoderControlPlane, {
      status: { phase: "Ready", conditions: [{ ...condition, status: "True", reason: "Serving" }] },
    });
    const labels = own("CoderControlPlane");
    expect(await samples("coder_k8s_object_phase")).toEqual([`{${labels},phase="Ready"} 1`]);
    expect(await samples("coder_k8s_object_condition")).toEqual([
      `{${labels},condition="Ready",status="True",reason="Serving"} 1`,
    ]);
  });

  it("are removed after its deletion", async () => {
    put(CoderControlPlane, { status: { phase: "Ready" } });
    finish(CoderControlPlane, "success");
    expect(await samples("coder_k8s_object_phase")).toHaveLength(1);
    remove(CoderControlPlane);
    finish(CoderControlPlane, "success");
    expect(await metrics.registry.metrics()).not.toContain('name="coder"');
  });

  it.each([CoderControlPlane, CoderProvisioner, CoderWorkspaceProxy] as Kind<KubeObject>[])(
    "of kind $kind count a missing status as pending with no ready pod of the default number",
    async (kind) => {
      put(kind);
      const labels = own(kind.kind);
      expect(await samples("coder_k8s_object_phase")).toEqual([`{${labels},phase="Pending"} 1`]);
      expect(await samples("coder_k8s_object_ready_replicas")).toEqual([`{${labels}} 0`]);
      expect(await samples("coder_k8s_object_desired_replicas")).toEqual([`{${labels}} 1`]);
    },
  );

  it("count its pods", async () => {
    put(CoderWorkspaceProxy, { spec: { replicas: 3 }, status: { readyReplicas: 2 } });
    const labels = own("CoderWorkspaceProxy");
    expect(await samples("coder_k8s_object_ready_replicas")).toEqual([`{${labels}} 2`]);
    expect(await samples("coder_k8s_object_desired_replicas")).toEqual([`{${labels}} 3`]);
  });

  it("show when it was last reconciled without an error", async () => {
    const name = "coder_k8s_object_last_successful_sync_timestamp_seconds";
    put(CoderProvisioner);
    finish(CoderProvisioner, "error");
    expect(await samples(name)).toEqual([]);
    finish(CoderProvisioner, "success");
    const syncedAt = clock.now() / 1_000;
    await clock.advance(60_000);
    finish(CoderProvisioner, "error");
    expect(await samples(name)).toEqual([`{${own("CoderProvisioner")}} ${syncedAt}`]);
  });

  it("restart when it is deleted and recreated", async () => {
    put(CoderProvisioner);
    finish(CoderProvisioner, "success");
    remove(CoderProvisioner);
    finish(CoderProvisioner, "success");
    put(CoderProvisioner);
    expect(await samples("coder_k8s_object_phase")).toHaveLength(1);
    expect(await samples("coder_k8s_object_last_successful_sync_timestamp_seconds")).toEqual([]);
  });
});

describe("of a control plane", () => {
  const expiry = "coder_k8s_license_expiry_timestamp_seconds";

  it("show the tier of its license, once it is known", async () => {
    put(CoderControlPlane);
    expect(await samples("coder_k8s_license_tier")).toEqual([]);
    put(CoderControlPlane, { status: { licenseTier: "premium" } });
    expect(await samples("coder_k8s_license_tier")).toEqual([
      `{${own("CoderControlPlane")},tier="premium"} 1`,
    ]);
  });

  it("show the expiration and the grace period of its licenses, including uploaded ones", async () => {
    put(CoderControlPlane);
    expect(await samples(expiry)).toEqual([]);
    const license = { tier: "premium", trial: false } as const;
    const [expires, graceEnds] = ["2027-01-15T08:00:00Z", "2027-01-16T08:00:00Z"];
    put(CoderControlPlane, { status: { license: { ...license, expires, graceEnds } } });
    expect(await samples(expiry)).toEqual([`{${own("CoderControlPlane")}} 1800000000`]);
    expect(await samples("coder_k8s_license_grace_end_timestamp_seconds")).toEqual([
      `{${own("CoderControlPlane")}} 1800086400`,
    ]);
    put(CoderControlPlane, { status: { license: { ...license, expires: "soon" } } });
    expect(await samples(expiry)).toEqual([]);
  });

  it("show the seats that are used, zero among them, and those that are allowed where there is a limit", async () => {
    const license = { tier: "premium", trial: false, seatsUsed: 0 } as const;
    put(CoderControlPlane, { status: { license } });
    expect(await samples("coder_k8s_license_seats_used")).toEqual([`{${own("CoderControlPlane")}} 0`]);
    expect(await samples("coder_k8s_license_seats_allowed")).toEqual([]);
    put(CoderControlPlane, { status: { license: { ...license, seatsAllowed: 10 } } });
    expect(await samples("coder_k8s_license_seats_allowed")).toEqual([`{${own("CoderControlPlane")}} 10`]);
  });
});

it("of a control plane show when the operator's own token ends", async () => {
  const expiry = "coder_k8s_operator_token_expiry_timestamp_seconds";
  const annotations = { "coder.com/token-expires-at": "2026-01-02T03:04:05Z" };
  put(Secret, { metadata: { annotations } }, "coder-operator-token");
  put(Secret, {}, "given");
  put(CoderControlPlane, { status: { operatorTokenSecretRef: { name: "given", key: "token" } } }, "given");
  expect(await samples(expiry)).toEqual([]);
  put(CoderControlPlane, {
    status: { operatorTokenSecretRef: { name: "coder-operator-token", key: "token" } },
  });
  expect(await samples(expiry)).toEqual([
    `{${own("CoderControlPlane")}} ${Date.UTC(2026, 0, 2, 3, 4, 5) / 1_000}`,
  ]);
});

it("count how long calls to coderd and to its database took, and what came of them", async () => {
  metrics.coderdCalled({ call: "licenses", result: "ok", seconds: 0.02 });
  metrics.coderdCalled({ call: "licenses", result: "transient", seconds: 10 });
  metrics.databaseCalled({ call: "ensureToken", result: "timeout", seconds: 30 });
  expect(await samples("coder_k8s_coderd_call_duration_seconds_sum")).toEqual([
    '{call="licenses",result="ok"} 0.02',
    '{call="licenses",result="transient"} 10',
  ]);
  expect(await samples("coder_k8s_database_call_duration_seconds_count")).toEqual([
    '{call="ensureToken",result="timeout"} 1',
  ]);
});

describe("of coderd's queue", () => {
  const pool = { pending: 2, oldestAt: 5_000, wanted: 3, busy: 1, idle: 0, starting: 2, draining: 4 };
  const totals = { pending: 7, oldestAt: 1_000, unmatched: 5 };
  const spec = { controlPlaneRef: { name: "coder" } };

  beforeEach(() => {
    put(CoderControlPlane);
    put(CoderProvisioner, { spec }, "pool");
    put(CoderProvisioner, { spec }, "other");
    metrics.queueObserved("n/coder", { totals, pools: new Map([["pool", pool]]) });
  });

  it("show what waits for a provisioner since when, and what its daemons do", async () => {
    const labels = own("CoderProvisioner", "pool");
    expect(await samples("coder_k8s_pool_pending_jobs")).toEqual([`{${labels}} 2`]);
    expect(await samples("coder_k8s_pool_oldest_job_timestamp_seconds")).toEqual([`{${labels}} 5`]);
    expect(await samples("coder_k8s_pool_wanted_daemons")).toEqual([`{${labels}} 3`]);
    expect(await samples("coder_k8s_pool_daemons")).toEqual([
      `{${labels},state="busy"} 1`,
      `{${labels},state="idle"} 0`,
      `{${labels},state="starting"} 2`,
      `{${labels},state="draining"} 4`,
    ]);
  });

  it("show waiting builds of a control plane since when, and those that match no pool", async () => {
    const labels = own("CoderControlPlane");
    expect(await samples("coder_k8s_queue_pending_jobs")).toEqual([`{${labels}} 7`]);
    expect(await samples("coder_k8s_queue_unmatched_jobs")).toEqual([`{${labels}} 5`]);
    expect(await samples("coder_k8s_queue_oldest_job_timestamp_seconds")).toEqual([`{${labels}} 1`]);
  });

  it("omit values that are no longer known", async () => {
    metrics.queueObserved("n/coder", { totals: undefined, pools: new Map() });
    expect(await samples("coder_k8s_queue_pending_jobs")).toEqual([]);
    expect(await samples("coder_k8s_pool_pending_jobs")).toEqual([]);
    metrics.queueObserved("n/coder", undefined);
    expect(await samples("coder_k8s_pool_daemons")).toEqual([]);
  });

  it("count the daemons that the queue asked for as those that a provisioner should have", async () => {
    put(
      CoderProvisioner,
      { spec: { ...spec, autoscaling: { maxReplicas: 5 } }, status: { desiredReplicas: 0 } },
      "pool",
    );
    expect(await samples("coder_k8s_object_desired_replicas")).toContain(
      `{${own("CoderProvisioner", "pool")}} 0`,
    );
  });
});

it("of a provisioner show when its key was made", async () => {
  const key = { name: "pool", organizationId: "o", tags: {} };
  metrics.coderd.provisionerKeysListed(URL, [
    { ...key, id: "used", createdAt: "2026-01-02T03:04:05Z" },
    { ...key, id: "foreign", createdAt: "2020-01-01T00:00:00Z" },
    { ...key, id: "odd", createdAt: "yesterday" },
  ]);
  put(CoderProvisioner, { status: { provisionerKeyID: "used", controlPlaneURL: URL } }, "a");
  put(CoderProvisioner, { status: { provisionerKeyID: "odd", controlPlaneURL: URL } }, "b");
  expect(await samples("coder_k8s_provisioner_key_created_timestamp_seconds")).toEqual([
    `{${own("CoderProvisioner", "a")}} ${Date.UTC(2026, 0, 2, 3, 4, 5) / 1_000}`,
  ]);
});

it("give two scrapes at once all objects each", async () => {
  put(CoderControlPlane, {}, "a");
  put(CoderControlPlane, {}, "b");
  const texts = await Promise.all([metrics.registry.metrics(), metrics.registry.metrics()]);
  for (const text of texts) expect(text.match(/^coder_k8s_object_phase\{/gm)).toHaveLength(2);
});

it("escape what a label may not hold", async () => {
  put(CoderControlPlane, { status: { licenseTier: 'a"b\\c\nd' as never } });
  expect(await samples("coder_k8s_license_tier")).toEqual([
    `{${own("CoderControlPlane")},tier="a\\"b\\\\c\\nd"} 1`,
  ]);
});

it("of objects are exported by the leader alone, so that each is counted once", async () => {
  put(CoderControlPlane, { status: { phase: "Ready" } });
  metrics.leading(false);
  const standby = await metrics.registry.metrics();
  expect(standby).not.toContain('name="coder"');
  expect(standby).toContain('coder_k8s_cache_objects{resource="codercontrolplanes.coder.com"} 1');
});
