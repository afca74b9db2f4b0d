import { fileURLToPath } from "node:url";
import { adminClient, type LocalCluster } from "kube-controller-runtime/testing";
import { PostgresAccounts } from "../../../lab/coderd/accounts.ts";
import { startCoderdServer } from "../../../lab/coderd/server.ts";
import { coderProcess } from "../../../lab/pod-runner/coder-process.ts";
import type { Launch } from "../../../lab/pod-runner/launch.ts";
import { LocalServices } from "../../../lab/pod-runner/local-services.ts";
import { PodRunner } from "../../../lab/pod-runner/pod-runner.ts";
import { simulatedCoder } from "../../../lab/pod-runner/simulated-coder.ts";
import { sharedPostgres } from "../../support/shared-postgres.ts";

const MAIN = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

/** The parts of a new user's cluster besides its API server: nodes that run pods, and a database. */
export interface GuideCluster extends AsyncDisposable {
  readonly databaseUrl: string;
}

/**
 * Pods of the chart's Deployment run the operator from sources, with the arguments and variables that the chart gives
 * it and the rights of the release's service account; coderd's pods are played at a simulator. Only the address of
 * coderd is replaced, because there is no network of pods.
 */
export async function guideCluster(cluster: LocalCluster): Promise<GuideCluster> {
  await using building = new AsyncDisposableStack();
  const databases = building.adopt(sharedPostgres(), (postgres) => postgres.stop());
  const database = await databases.createDatabase("migrated");
  const databaseUrl = `${database.url}?sslmode=disable`;
  const server = building.adopt(await startCoderdServer(), (running) => running.close());
  const accounts = new PostgresAccounts(databaseUrl);
  const simulator = server.add({ accounts }, { host: "coder.coder.svc.cluster.local" });
  const client = await adminClient(cluster);
  const services = building.use(new LocalServices(client));
  const operator = operatorPod({ services, coderdUrl: server.url, kubeconfig: cluster.operator.kubeconfig });
  const coder = simulatedCoder(simulator);
  const launch: Launch = (plan) => (plan.container.name === "operator" ? operator(plan) : coder(plan));
  building.use(new PodRunner({ client, launch, namespaces: ["coder", "coder-system"] }));
  const owned = building.move();
  return { databaseUrl, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

interface OperatorPod {
  readonly services: LocalServices;
  readonly coderdUrl: string;
  readonly kubeconfig: string;
}

/** Replicas share this machine, so each listens on the address of its own pod. */
function operatorPod({ services, coderdUrl, kubeconfig }: OperatorPod): Launch {
  const start = coderProcess({ binary: process.execPath, entrypoint: [MAIN], services });
  return (plan) => {
    const args = plan.args.map((arg) => arg.replace("-address=:", `-address=${plan.podIP}:`));
    return start({
      ...plan,
      args: [...args, `--coderd-access=${coderdUrl}`],
      env: { ...plan.env, KUBECONFIG: kubeconfig },
    });
  };
}
