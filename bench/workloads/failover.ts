import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import type { Client } from "../../src/runtime/client/client.ts";
import { adminClient } from "../../test/support/admin-client.ts";
import { aControlPlane } from "../../test/support/builders.ts";
import type { ClusterAccess } from "../../test/support/cluster/access.ts";
import { startCluster } from "../../test/support/cluster/cluster.ts";
import { Changes } from "../changes.ts";
import { Follower } from "../follow.ts";
import { startBundle, untilLeading, untilReported } from "../operator.ts";
import { concurrently, type Figure, median, type Workload } from "../workload.ts";

const CONTROL_PLANES = 50;
const WRITERS = 8;

type Ending = "SIGTERM" | "SIGKILL";

/** A stopped leader hands its Lease over; that of a killed one has to run out. */
const LIMITS_S: Readonly<Record<Ending, number>> = { SIGTERM: 2, SIGKILL: 15 };

interface Place {
  readonly cluster: ClusterAccess;
  readonly person: Client;
  readonly namespace: string;
  readonly changes: Changes;
}

/** Two operators, of which the leader ends: how long a change made at that moment waits for the other. */
export const failover: Workload = {
  name: "failover",
  title: `Failover with ${CONTROL_PLANES} control planes`,
  async run({ runs }, tell) {
    await using cluster = await startCluster({ operatorInstalled: true });
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
      const samples: number[] = [];
      for (let run = 1; run <= runs; run++) {
        tell(`${ending}, run ${run} of ${runs}`);
        samples.push((await handOver(place, ending)) / 1_000);
      }
      const what = `${ending} of the leader until a change is made by the other`;
      figures.push(
        { what: `${what}, median`, value: median(samples), unit: "s" },
        { what: `${what}, longest`, value: Math.max(...samples), unit: "s", limit: LIMITS_S[ending] },
      );
    }
    return figures;
  },
};

const nameOf = (index: number) => `coder-${index}`;

async function createControlPlanes({ cluster, person, namespace }: Place): Promise<void> {
  await using operator = await startBundle(cluster, namespace);
  await concurrently(CONTROL_PLANES, WRITERS, async (index) => {
    const name = nameOf(index);
    await person.create(CoderControlPlane, aControlPlane({ namespace, name }));
    await untilReported(person, { namespace, name });
  });
  await operator.stop("SIGTERM");
}

/** The milliseconds from the end of a leader until its successor leads and the change of that moment is made. */
async function handOver({ cluster, namespace, changes }: Place, ending: Ending): Promise<number> {
  await using leader = await startBundle(cluster, namespace);
  await untilLeading(leader);
  await using other = await startBundle(cluster, namespace);
  const endedAt = performance.now();
  leader.program.signal(ending);
  await Promise.all([changes.make(nameOf(0)), untilLeading(other)]);
  const tookMs = performance.now() - endedAt;
  // It gives its Lease back, which the next leader would wait for otherwise.
  await other.stop("SIGTERM");
  return tookMs;
}
