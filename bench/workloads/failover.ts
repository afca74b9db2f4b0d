import type { Client } from "kube-controller-runtime";
import { adminClient, type ClusterAccess } from "kube-controller-runtime/testing";
import { aControlPlane } from "../../lab/builders.ts";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { Changes } from "../changes.ts";
import { controlPlaneName } from "../fleet/names.ts";
import { Follower } from "../follow.ts";
import { startBundle, untilLeading, untilReported } from "../operator.ts";
import { untilCalm } from "../proc.ts";
import { operatorRequests } from "../requests.ts";
import { concurrently, type Figure, median, type Workload } from "../workload.ts";

const CONTROL_PLANES = 50;
const WRITERS = 8;

type Ending = "SIGTERM" | "SIGKILL";

/**
 * A stopped leader releases its Lease; that of a killed one expires after 15 s, which is noticed within 2 s.
 */
const LIMITS_S: Readonly<Record<Ending, number>> = { SIGTERM: 2, SIGKILL: 18 };

interface Place {
  readonly cluster: ClusterAccess;
  readonly person: Client;
  readonly namespace: string;
  readonly changes: Changes;
}

/** Two operators, the leader of which ends: how long a change at that moment waits for the other. */
export const failover: Workload = {
  name: "failover",
  title: `Failover with ${CONTROL_PLANES} control planes`,
  async run({ runs }, report) {
    await using cluster = await startOperatorCluster({ audit: true });
    const person = await adminClient(cluster);
    const namespace = await cluster.createNamespace("failover");
    using follower = new Follower(person);
    await follower.playKubelet();
    const changes = new Changes(person, namespace);
    await changes.begin(follower);
    const place = { cluster, person, namespace, changes };
    await createControlPlanes(place);
    const figures: Figure[] = [];
    for (const ending of ["SIGTERM", "SIGKILL"] as const) {
      const samples: Takeover[] = [];
      for (let run = 1; run <= runs; run++) {
        report(`${ending}, run ${run} of ${runs}`);
        samples.push(await takeOver(place, ending));
      }
      figures.push(...figuresOf(ending, samples));
    }
    return figures;
  },
};

/** From the end of a leader until its successor leads and has handled the change. */
interface Takeover {
  readonly seconds: number;
  readonly requests: number;
}

function figuresOf(ending: Ending, samples: readonly Takeover[]): Figure[] {
  const seconds = samples.map((sample) => sample.seconds);
  const requests = median(samples.map((sample) => sample.requests));
  const figures: Figure[] = [
    { what: "until the other has made a change, median", value: median(seconds), unit: "s" },
    { what: "longest of them", value: Math.max(...seconds), unit: "s", limit: LIMITS_S[ending] },
    { what: "requests of the operators meanwhile, median", value: requests, unit: "" },
  ];
  return figures.map((figure) => ({ ...figure, what: `${ending} of the leader: ${figure.what}` }));
}

async function createControlPlanes({ cluster, person, namespace }: Place): Promise<void> {
  await using operator = await startBundle(cluster, namespace);
  await concurrently(CONTROL_PLANES, WRITERS, async (index) => {
    const name = controlPlaneName(index);
    await person.create(CoderControlPlane, aControlPlane({ namespace, name }));
    await untilReported(person, { namespace, name });
  });
  await operator.stop("SIGTERM");
}

async function takeOver({ cluster, namespace, changes }: Place, ending: Ending): Promise<Takeover> {
  await using leader = await startBundle(cluster, namespace);
  await untilLeading(leader);
  await using other = await startBundle(cluster, namespace);
  for (const { program } of [leader, other]) await untilCalm(program.pid);
  const from = new Date();
  leader.program.signal(ending);
  await Promise.all([changes.make(controlPlaneName(0)), untilLeading(other)]);
  const to = new Date();
  // It releases its Lease, for which the next leader would otherwise wait.
  await other.stop("SIGTERM");
  const requests = await operatorRequests(cluster, { from, to });
  return { seconds: (to.getTime() - from.getTime()) / 1_000, requests: requests.length };
}
