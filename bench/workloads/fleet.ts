import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { Cache } from "../../src/runtime/cache/cache.ts";
import type { Client } from "../../src/runtime/client/client.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { Deployment, Secret } from "../../src/runtime/kinds.ts";
import { createLogger } from "../../src/runtime/logging.ts";
import type { Kind, KubeObject } from "../../src/runtime/object.ts";
import { adminClient } from "../../test/support/admin-client.ts";
import type { ClusterAccess } from "../../test/support/cluster/access.ts";
import { startCluster } from "../../test/support/cluster/cluster.ts";
import { PostgresAccounts } from "../../test/support/coderd/accounts.ts";
import { fakeLicense } from "../../test/support/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../test/support/coderd/server.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { metric, startBundle } from "../operator.ts";
import { concurrently, type Figure, timed, type Workload } from "../workload.ts";

const WRITERS = 16;
const DAEMONS = 2;

interface Fleet {
  readonly size: number;
  readonly latencyMs: number;
}

const FLEETS: readonly Fleet[] = [
  { size: 50, latencyMs: 100 },
  { size: 200, latencyMs: 100 },
];

/** Control planes and as many provisioners, all made at once, until every one of them is as it should be. */
export const fleets: Workload = {
  name: "fleet",
  title: "Fleet from creation to converged",
  async run(_scale, tell) {
    await using resources = new AsyncDisposableStack();
    const postgres = await startPostgres();
    resources.defer(() => postgres.stop());
    const database = await postgres.createDatabase("2.26");
    const figures: Figure[] = [];
    for (const fleet of FLEETS) {
      tell(`${fleet.size} + ${fleet.size} objects, coderd at ${fleet.latencyMs} ms`);
      figures.push(...(await measure(fleet, database.url)));
    }
    return figures;
  },
};

async function measure(fleet: Fleet, databaseUrl: string): Promise<Figure[]> {
  await using cluster = await startCluster({ operatorInstalled: true, audit: true });
  await using resources = new AsyncDisposableStack();
  const person = await adminClient(cluster);
  const namespace = await cluster.createNamespace("fleet");
  const coderd = await startCoderds(fleet, { namespace, databaseUrl });
  resources.defer(() => coderd.close());
  const follow = follower(person, resources);
  const [controlPlanes, provisioners, deployments] = [
    follow(CoderControlPlane),
    follow(CoderProvisioner),
    follow(Deployment),
  ];
  deployments.onChange(({ object }) => void playKubelet(cluster, object));
  await makeSecrets(person, { namespace, databaseUrl });
  await using operator = await startBundle(cluster, namespace, [`--coderd-access=${coderd.url}`]);
  const duration = await timed(async () => {
    await concurrently(fleet.size, WRITERS, (index) => makePair(person, { namespace, index }));
    await until(() => isConverged(fleet.size, [...controlPlanes.all()], [...provisioners.all()]));
  });
  const exposition = await operator.metrics();
  const requests = (await cluster.auditRequests()).filter(
    ({ user, resource }) => user === cluster.operator.user && resource !== "leases",
  );
  const what = `${fleet.size} + ${fleet.size}, coderd ${fleet.latencyMs} ms`;
  return [
    { what, value: duration / 1_000, unit: "s" },
    { what: `${what}: requests`, value: requests.length, unit: "" },
    { what: `${what}: processor time`, value: metric(exposition, "process_cpu_seconds_total"), unit: "s" },
    {
      what: `${what}: resident`,
      value: metric(exposition, "process_resident_memory_bytes") / 1_000_000,
      unit: "MB",
    },
  ];
}

/** One simulated coderd for each control plane. They share a database, as the tokens in it bear their owners' names. */
async function startCoderds(
  { size, latencyMs }: Fleet,
  { namespace, databaseUrl }: { namespace: string; databaseUrl: string },
): Promise<CoderdServer> {
  const server = await startCoderdServer();
  const shared = new PostgresAccounts(databaseUrl);
  const accounts = { find: shared.find.bind(shared), close: async () => {} };
  for (let index = 0; index < size; index++) {
    const host = `coder-${index}.${namespace}.svc.cluster.local`;
    const deployment = server.add({ accounts }, { host });
    if (latencyMs > 0) deployment.faults.inject({ fault: { kind: "latency", ms: latencyMs } });
  }
  return { ...server, close: () => server.close().finally(() => shared.close()) };
}

function follower(client: Client, resources: AsyncDisposableStack) {
  const stop = new AbortController();
  resources.defer(() => stop.abort());
  const log = createLogger({ level: "error" });
  const environment = { client, clock: systemClock, random: Math.random, log, namespaces: [] };
  return <T extends KubeObject>(kind: Kind<T>): Cache<T> => {
    const cache = new Cache(kind, environment);
    void cache.run(stop.signal);
    return cache;
  };
}

/** Reports every pod of a Deployment ready as soon as its spec is seen. */
async function playKubelet(cluster: ClusterAccess, { metadata, status }: Deployment): Promise<void> {
  const { namespace = "", name = "", generation } = metadata ?? {};
  if (status?.observedGeneration === generation) return;
  await cluster.markDeploymentReady(namespace, name).catch(() => {});
}

async function makeSecrets(
  person: Client,
  { namespace, databaseUrl }: { namespace: string; databaseUrl: string },
): Promise<void> {
  const secrets = { license: fakeLicense(), database: databaseUrl };
  for (const [name, value] of Object.entries(secrets)) {
    await person.create(Secret, { metadata: { namespace, name }, stringData: { [name]: value } });
  }
}

async function makePair(person: Client, { namespace, index }: { namespace: string; index: number }) {
  const name = `coder-${index}`;
  const secretKeyRef = { name: "database", key: "database" };
  await person.create(CoderControlPlane, {
    metadata: { namespace, name },
    spec: {
      extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
      licenseSecretRef: { name: "license" },
    },
  });
  const spec = { controlPlaneRef: { name }, replicas: DAEMONS, tags: { pool: name } };
  await person.create(CoderProvisioner, { metadata: { namespace, name: `pool-${index}` }, spec });
}

function isConverged(
  size: number,
  controlPlanes: readonly CoderControlPlane[],
  provisioners: readonly CoderProvisioner[],
): boolean {
  const licensed = controlPlanes.filter(
    ({ status }) =>
      status?.phase === "Ready" && status.licenseLastAppliedHash && status.licenseTier === "premium",
  );
  const serving = provisioners.filter(
    ({ status }) => status?.phase === "Ready" && status.readyReplicas === DAEMONS,
  );
  return licensed.length === size && serving.length === size;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}
