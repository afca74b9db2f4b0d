import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClusterAccess, Supervised, untilReady } from "kube-controller-runtime/testing";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import { startBundle, untilLeading } from "../operator.ts";

/** An operator at work on a fleet. */
export type FleetOperator = Pick<OperatorProcess, "program" | "stop"> & AsyncDisposable;

/** An operator, and the name under which the API server knows it. */
interface Started {
  readonly operator: FleetOperator;
  readonly user: string;
}

/** Where an operator works. */
interface Place {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  /** The server that plays every coderd. */
  readonly coderdUrl: string;
}

/** Starts an operator; resolves once it leads. */
export type StartOperator = (place: Place) => Promise<Started>;

/** What a release of this project runs. */
export const startOurs: StartOperator = async ({ cluster, namespace, coderdUrl }) => {
  const operator = await startBundle(cluster, namespace, [`--coderd-access=${coderdUrl}`]);
  await untilLeading(operator);
  return { operator, user: cluster.operator.user };
};

/** What each of its controllers logs once it leads. */
const LEADS = "Starting workers";
const CONTROLLERS = 3;

/**
 * The Go operator, to compare with: a binary that is not part of this project. It may do everything in the cluster, and
 * takes the coderds' server for its HTTP proxy, so that it reaches them by the names of their Services. It always listens on
 * the ports 8080 and 8081, where no other program may.
 */
export function startGo(binary: string): StartOperator {
  return async ({ cluster, namespace, coderdUrl }) => {
    const dir = await mkdtemp(join(tmpdir(), "coder-k8s-go-operator-"));
    const identity = await cluster.createServiceAccount(namespace, "go-operator");
    await cluster.apply(allowEverything(namespace, "go-operator"));
    const logFile = join(dir, "log");
    const program = new Supervised({
      command: binary,
      args: ["-app=controller"],
      env: {
        ...process.env,
        KUBECONFIG: identity.kubeconfig,
        POD_NAMESPACE: namespace,
        HTTP_PROXY: coderdUrl,
      },
      logFile,
      scratch: dir,
    });
    const isLeading = async () => (await readFile(logFile, "utf8")).split(LEADS).length > CONTROLLERS;
    await untilReady(program, isLeading);
    const operator = {
      program,
      stop: (signal: NodeJS.Signals) => program.stop(signal),
      async [Symbol.asyncDispose]() {
        await program.stop("SIGKILL");
        await rm(dir, { recursive: true, force: true });
      },
    };
    return { operator, user: identity.user };
  };
}

function allowEverything(namespace: string, name: string): object {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
  };
}
