import {
  type Controller,
  type Logger,
  type OperatorEnvironment,
  ownNamespace,
  runOperator,
  systemClock,
} from "kube-controller-runtime";
import { CoderClients } from "../coder/clients.ts";
import { operatorAccess } from "../coder/operator-access/access.ts";
import { type FinishedCall, timed } from "../coder/timed.ts";
import { SharedAnswers } from "../operator/coderd/shared-answers.ts";
import { controllers } from "../operator/controllers.ts";
import { OperatorMetrics } from "../operator/metrics/metrics.ts";
import { LEASE_NAME, ownershipMarks } from "../operator/names.ts";
import { discoverClusterDomain } from "./cluster-domain.ts";
import { coderdRoute } from "./coderd-route.ts";
import type { ControllerOptions } from "./options.ts";

export interface ProcessEnvironment {
  readonly version: string;
  readonly podNamespace: string | undefined;
  /** Aborted by SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Runs the operator until the signal is aborted. Rejects if leadership is lost or the operator fails to
 * start.
 */
export async function runController(
  options: ControllerOptions,
  { version, podNamespace, signal, log }: ProcessEnvironment,
): Promise<void> {
  const metrics = new OperatorMetrics({ clock: systemClock });
  // The namespace of the pod, even if the Lease is in another namespace.
  const operatorNamespace = await ownNamespace(podNamespace);
  const clusterDomain = options.clusterDomain ?? (await discoverClusterDomain());
  await using resources = new AsyncDisposableStack();
  await runOperator({
    name: "coder-k8s",
    version,
    marks: ownershipMarks,
    kubeconfig: options.kubeconfig,
    namespaces: options.namespaces,
    concurrency: options.concurrency,
    leaderElection: options.leaderElect && {
      name: LEASE_NAME,
      namespace: options.leaderElectionNamespace ?? operatorNamespace,
    },
    probeAddress: options.healthProbeBindAddress,
    metrics,
    metricsAddress: options.metricsBindAddress,
    metricsAuth: options.metricsAuth,
    log,
    shutdownGraceMs: options.shutdownGraceSeconds * 1_000,
    signal,
    controllers: controllersIn,
  });

  function controllersIn({ fence, credentials }: OperatorEnvironment): readonly Controller[] {
    const route = coderdRoute(options.coderdAccess, credentials);
    const onCall = (call: FinishedCall) => metrics.coderdCalled(call);
    const coderd = new CoderClients({ clock: systemClock, fence, route, observer: metrics.coderd, onCall });
    resources.defer(() => coderd.close());
    const database = timed(operatorAccess({ clock: systemClock, fence }), systemClock, (call) =>
      metrics.databaseCalled(call),
    );
    return controllers(
      {
        coderd,
        database,
        answers: new SharedAnswers(systemClock),
        clusterDomain,
        random: Math.random,
        tokenOrphaned: () => metrics.tokenOrphaned(),
        entityOrphaned: () => metrics.entityOrphaned(),
        queueObserved: (controlPlane, numbers) => metrics.queueObserved(controlPlane, numbers),
      },
      { operatorNamespace, workspaceNamespaces: options.workspaceNamespaces },
    );
  }
}
