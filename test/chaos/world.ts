import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stop as stopEsbuild } from "esbuild";
import type { Client } from "kube-controller-runtime";
import { adminClient, type LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { PostgresAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { type CoderdServer, startCoderdServer } from "../../lab/coderd/server.ts";
import { startOperatorProcess } from "../../lab/operator-process.ts";
import type { Launch } from "../../lab/pod-runner/launch.ts";
import { PodRunner } from "../../lab/pod-runner/pod-runner.ts";
import { simulatedCoder } from "../../lab/pod-runner/simulated-coder.ts";
import { type Database, type Postgres, startPostgres } from "../../lab/postgres.ts";
import { bundle } from "../../tools/build/bundle.ts";
import { type FaultProxy, startFaultProxy } from "../support/fault-proxy.ts";
import { type Fleet, LICENSES, type LicenseName, ORGANIZATIONS, wishesOf } from "./fleet.ts";
import { Replicas } from "./replicas.ts";

/** One simulated coderd and its real database. */
export interface Coderd {
  readonly deployment: CoderdDeployment;
  readonly database: Database;
}

/** Everything that a campaign plays with. */
export interface World {
  readonly cluster: LocalCluster;
  readonly namespace: string;
  /** The user, whose connection to the API server has no faults. */
  readonly person: Client;
  readonly postgres: Postgres;
  /** By the name of the control plane. */
  readonly coderds: ReadonlyMap<string, Coderd>;
  readonly licenses: Readonly<Record<LicenseName, string>>;
  /** Between the operator and the API server. */
  readonly network: FaultProxy;
  readonly replicas: Replicas;
}

export interface Making {
  /** Where all that was started is left, also when something else fails. */
  readonly owned: AsyncDisposableStack;
  readonly report: (line: string) => void;
}

const REPLICAS = 2;

/** Starts everything but the fleet itself. */
export async function startWorld(fleet: Fleet, { owned, report }: Making): Promise<World> {
  report("starts: Kubernetes, Postgres, a coderd for each control plane, two operators");
  const cluster = owned.use(await startOperatorCluster({ controllerManager: true }));
  const postgres = owned.adopt(await startPostgres(), (running) => running.stop());
  const server = owned.adopt(await startCoderdServer(), (running) => running.close());
  const [namespace, person, network] = await Promise.all([
    cluster.createNamespace("chaos"),
    adminClient(cluster),
    startFaultProxy(cluster),
  ]);
  owned.use(network);
  const coderds = await startCoderds(fleet, { namespace, postgres, server });
  owned.use(new PodRunner({ client: person, launch: launchAt(coderds, namespace), namespaces: [namespace] }));
  const dir = owned.adopt(await mkdtemp(join(tmpdir(), "coder-k8s-chaos-")), (made) =>
    rm(made, { recursive: true, force: true }),
  );
  const start = await operatorStarter({ dir, cluster, namespace, network, server });
  const replicas = owned.use(new Replicas({ count: REPLICAS, start, report }));
  const licenses = Object.fromEntries(LICENSES.map((name) => [name, fakeLicense()]));
  return {
    cluster,
    namespace,
    person,
    postgres,
    coderds,
    licenses: licenses as Record<LicenseName, string>,
    network,
    replicas,
  };
}

interface CoderdParts {
  readonly namespace: string;
  readonly postgres: Postgres;
  readonly server: CoderdServer;
}

async function startCoderds(
  fleet: Fleet,
  { namespace, postgres, server }: CoderdParts,
): Promise<Map<string, Coderd>> {
  const coderds = new Map<string, Coderd>();
  const organizations = ORGANIZATIONS.filter((name) => name !== "default");
  for (const { name } of wishesOf(fleet, "CoderControlPlane")) {
    const database = await postgres.createDatabase("migrated");
    const accounts = new PostgresAccounts(database.url);
    const deployment = server.add({ accounts, organizations }, { host: hostOf(name, namespace) });
    coderds.set(name, { deployment, database });
  }
  return coderds;
}

/** Daemons and proxies show themselves at the coderd whose address they were given. */
function launchAt(coderds: ReadonlyMap<string, Coderd>, namespace: string): Launch {
  const launches = new Map(
    [...coderds].map(([name, { deployment }]) => [hostOf(name, namespace), simulatedCoder(deployment)]),
  );
  const [anywhere] = launches.values();
  return (plan) => {
    const url = URL.parse(plan.env.CODER_URL ?? plan.env.CODER_PRIMARY_ACCESS_URL ?? "");
    const launch = launches.get(url?.hostname ?? "") ?? anywhere;
    if (!launch) throw new Error("there is no coderd to launch anything at");
    return launch(plan);
  };
}

function hostOf(name: string, namespace: string): string {
  return `${name}.${namespace}.svc.cluster.local`;
}

interface OperatorParts extends Pick<World, "cluster" | "namespace" | "network"> {
  readonly server: CoderdServer;
  readonly dir: string;
}

/** All processes of a campaign run the same code, whatever is edited meanwhile. */
async function operatorStarter({ dir, cluster, namespace, network, server }: OperatorParts) {
  const [entry, kubeconfig] = [join(dir, "operator.mjs"), join(dir, "kubeconfig")];
  await bundle(entry, { entry: "test/chaos/operator/main.ts" }).finally(() => stopEsbuild());
  await writeFile(kubeconfig, network.kubeconfig({ token: cluster.operator.token }), { mode: 0o600 });
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--namespaces=${namespace}`,
    `--leader-election-namespace=${namespace}`,
    `--coderd-access=${server.url}`,
    "--shutdown-grace-seconds=5",
    "--log-level=debug",
  ];
  return () => startOperatorProcess(cluster, flags, entry);
}
