import { join } from "node:path";
import { apiServerFiles } from "./api-server.ts";
import { untilReady } from "./start.ts";
import { Supervised } from "./supervised.ts";

/**
 * The controllers that tests need: owner references, rollouts, namespaces, service accounts, endpoints,
 * autoscalers.
 */
const CONTROLLERS = [
  "garbage-collector-controller",
  "deployment-controller",
  "replicaset-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "endpointslice-controller",
  "horizontal-pod-autoscaler-controller",
];

/**
 * Starts the controllers and resolves when they run. There is no kubelet and no scheduler: pods stay Pending
 * until a test marks them ready.
 */
export async function startControllerManager(
  binary: string,
  dir: string,
  kubeconfig: string,
): Promise<Supervised> {
  const files = apiServerFiles(dir);
  const manager = new Supervised({
    command: binary,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${CONTROLLERS.join(",")}`,
      // Each controller uses its own bootstrap role, as in a real cluster.
      "--use-service-account-credentials",
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.ca}`,
      "--leader-elect=false",
      "--horizontal-pod-autoscaler-sync-period=1s",
      "--secure-port=0",
    ],
    logFile: join(dir, "kube-controller-manager.log"),
    scratch: dir,
  });
  await untilReady(manager, async () => manager.logTail().includes("Caches are synced"));
  return manager;
}
