import { setTimeout as sleep } from "node:timers/promises";
import { Deployment } from "kube-controller-runtime";
import { adminClient, type ClusterAccess } from "kube-controller-runtime/testing";
import { aControlPlane } from "../../lab/builders.ts";
import { startOperatorCluster } from "../../lab/cluster.ts";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { controlPlaneName } from "../fleet/names.ts";
import { metric, startBundle, untilReported } from "../operator.ts";
import { concurrently, type Workload } from "../workload.ts";

const CONTROL_PLANES = 20;
const CHANGES_OF_EACH = 50;
const WRITERS = 8;

/**
 * Runs without any work, caused by changes of others to fields of a child that the operator does not manage.
 */
export const idleRuns: Workload = {
  name: "idle-runs",
  title: "Runs with nothing to do",
  async run(_scale, report) {
    await using cluster = await startOperatorCluster({ audit: true });
    const person = await adminClient(cluster);
    const namespace = await cluster.createNamespace("idle-runs");
    await using operator = await startBundle(cluster, namespace);
    const ref = (index: number) => ({ namespace, name: controlPlaneName(index % CONTROL_PLANES) });
    await concurrently(CONTROL_PLANES, WRITERS, async (index) => {
      await person.create(CoderControlPlane, aControlPlane({ ...ref(index) }));
      await untilReported(person, ref(index));
    });
    // Events are collected before they are written.
    await sleep(8_000);
    report(`changing ${CONTROL_PLANES} children ${CHANGES_OF_EACH} times each`);
    const before = await readings(cluster, operator);
    await concurrently(CONTROL_PLANES * CHANGES_OF_EACH, WRITERS, (index) =>
      person.mergePatch(Deployment, ref(index), {
        metadata: { annotations: { "example.com/n": `${index}` } },
      }),
    );
    await sleep(2_000);
    const after = await readings(cluster, operator);
    const runs = after.runs - before.runs;
    return [
      { what: "runs", value: runs, unit: "" },
      { what: "requests to the API server", value: after.requests - before.requests, unit: "", limit: 0 },
      { what: "processor time a run", value: ((after.cpu - before.cpu) / runs) * 1_000, unit: "ms" },
    ];
  },
};

interface Readings {
  readonly runs: number;
  readonly requests: number;
  readonly cpu: number;
}

/** The counters of the operator, and the API server's count of its requests, except watches and the Lease. */
async function readings(cluster: ClusterAccess, operator: OperatorProcess): Promise<Readings> {
  const [exposition, requests] = await Promise.all([operator.metrics(), cluster.auditRequests()]);
  const asked = requests.filter(
    ({ user, verb, resource }) => user === cluster.operator.user && verb !== "watch" && resource !== "leases",
  );
  return {
    runs: metric(exposition, "coder_k8s_reconcile_total"),
    requests: asked.length,
    cpu: metric(exposition, "process_cpu_seconds_total"),
  };
}
