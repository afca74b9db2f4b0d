import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Client } from "kube-controller-runtime";
import { adminClient, type LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../lab/cluster.ts";
import { PostgresAccounts } from "../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../lab/coderd/deployment.ts";
import { fakeLicense } from "../lab/coderd/licenses.ts";
import { startCoderdServer } from "../lab/coderd/server.ts";
import { startOperatorProcess } from "../lab/operator-process.ts";
import { coderProcess } from "../lab/pod-runner/coder-process.ts";
import type { Launch } from "../lab/pod-runner/launch.ts";
import { LocalServices } from "../lab/pod-runner/local-services.ts";
import { PodRunner } from "../lab/pod-runner/pod-runner.ts";
import { simulatedCoder } from "../lab/pod-runner/simulated-coder.ts";
import { type Postgres, startPostgres } from "../lab/postgres.ts";
import { licenseManifest, manifests, NAMESPACE } from "./manifests.ts";
import { Operators } from "./operators.ts";

const CODERD_HOST = `coder.${NAMESPACE}.svc.cluster.local`;
const REPLICAS = 2;

export interface WorldOptions {
  /** A real `coder` for the pods; they are simulated by default. */
  readonly coderBinary?: string;
  /** Folders with additional programs for the pods. */
  readonly path?: readonly string[];
  /** The initial license; defaults to one for the simulator. */
  readonly license?: string;
  /** Another license; absent if only the simulator has one. */
  readonly otherLicense?: string;
}

/** Called with the progress while the world is started. */
export interface Progress {
  starting(part: PartName, detail: string): void;
  running(part: PartName, detail: string): void;
  /** A later event of a component. */
  report(line: string): void;
}

export const PART_NAMES = ["Kubernetes", "Postgres", "coderd", "operator"] as const;
export type PartName = (typeof PART_NAMES)[number];

/** Everything that the demo runs. */
export interface World {
  readonly cluster: LocalCluster;
  readonly client: Client;
  readonly operators: Operators;
  /** Absent if a real coderd runs. */
  readonly simulator: CoderdDeployment | undefined;
  /** All manifests to apply. */
  readonly manifests: string;
  /** The URL of coderd on this machine. */
  readonly coderdUrl: string;
  /** A file with another license to apply, if there is one. */
  readonly otherLicense: string | undefined;
}

/** The coderd of the demo, and how its pods and the operator reach it. */
interface Coderd {
  readonly simulator: CoderdDeployment | undefined;
  readonly launch: Launch;
  readonly url: string;
}

/** The inputs for starting a world. */
interface Making {
  /** Owns everything that was started, even if something else fails. */
  readonly owned: AsyncDisposableStack;
  readonly progress: Progress;
  /** Once aborted, nothing more is started. */
  readonly signal: AbortSignal;
}

/** Starts all components. */
export async function startWorld(options: WorldOptions, making: Making): Promise<World> {
  const { owned, progress, signal } = making;
  const [cluster, postgres] = await startGround(making);
  signal.throwIfAborted();
  const database = await postgres.createDatabase(options.coderBinary ? "empty" : "migrated");
  // coderd's driver requires TLS by default.
  const databaseUrl = `${database.url}?sslmode=disable`;
  const client = await adminClient(cluster, "coder-k8s-demo");
  const coderd = options.coderBinary
    ? await realCoderd({ ...options, binary: options.coderBinary }, client, owned)
    : await simulatedCoderd(databaseUrl, owned);
  progress.running("coderd", options.coderBinary ?? `simulated at ${coderd.url}`);
  owned.use(new PodRunner({ client, launch: coderd.launch }));
  const operators = await startOperators(cluster, coderd.url, making);
  signal.throwIfAborted();
  await cluster.kubectl(["config", "set-context", "--current", `--namespace=${NAMESPACE}`]);
  const license = options.license ?? fakeLicense({ featureSet: "enterprise", seats: 50 });
  const otherLicense = options.otherLicense ?? (coderd.simulator && fakeLicense());
  return {
    cluster,
    client,
    operators,
    simulator: coderd.simulator,
    manifests: await manifests({ databaseUrl, license }),
    coderdUrl: coderd.url,
    otherLicense: otherLicense && (await writeLicense(otherLicense, cluster)),
  };
}

/** The cluster and the database. Waits for both, so that a failure of one does not leak the other. */
async function startGround({ owned, progress }: Making): Promise<[LocalCluster, Postgres]> {
  progress.starting("Kubernetes", "etcd, API server and controllers");
  progress.starting("Postgres", "the database of coderd");
  const cluster = startOperatorCluster({ controllerManager: true }).then((started) => {
    progress.running("Kubernetes", `API server at ${started.server}`);
    return owned.use(started);
  });
  const postgres = startPostgres().then((started) => {
    progress.running("Postgres", `127.0.0.1:${started.port}`);
    return owned.adopt(started, (running) => running.stop());
  });
  await Promise.allSettled([cluster, postgres]);
  return Promise.all([cluster, postgres]);
}

async function simulatedCoderd(databaseUrl: string, owned: AsyncDisposableStack): Promise<Coderd> {
  const server = owned.adopt(await startCoderdServer(), (running) => running.close());
  const simulator = server.add({ accounts: new PostgresAccounts(databaseUrl) });
  return { simulator, launch: simulatedCoder(simulator), url: server.url };
}

async function realCoderd(
  { binary, path }: { readonly binary: string; readonly path?: readonly string[] },
  client: Client,
  owned: AsyncDisposableStack,
): Promise<Coderd> {
  const services = owned.use(new LocalServices(client));
  const url = await services.translate(`http://${CODERD_HOST}`);
  return { simulator: undefined, launch: coderProcess({ binary, services, ...(path && { path }) }), url };
}

async function startOperators(
  cluster: LocalCluster,
  coderdUrl: string,
  { owned, progress }: Making,
): Promise<Operators> {
  progress.starting("operator", `${REPLICAS} replicas from sources`);
  const flags = ["--leader-election-namespace=coder-system", `--coderd-access=${coderdUrl}`];
  const start = () => startOperatorProcess(cluster, flags);
  const operators = owned.use(await Operators.start(REPLICAS, start, (line) => progress.report(line)));
  progress.running("operator", `${REPLICAS} replicas`);
  return operators;
}

/** Next to the kubeconfig, in the folder that is removed with the cluster. */
async function writeLicense(license: string, cluster: LocalCluster): Promise<string> {
  const file = join(dirname(cluster.admin.kubeconfig), "premium-license.yaml");
  await writeFile(file, licenseManifest(license), { mode: 0o600 });
  return file;
}
