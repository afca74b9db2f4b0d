import { randomBytes } from "node:crypto";
import { type Client, Secret } from "kube-controller-runtime";
import { adminClient, type LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { referringControlPlane, startBundle, untilReported } from "../operator.ts";
import { settledResident } from "../proc.ts";
import { concurrently, type Figure, median, type Workload } from "../workload.ts";

const SECRET_BYTES = 20 * 1024;
const WRITERS = 16;
/** The Secrets alone exceed half of etcd's default quota. */
const ETCD_QUOTA = 8 * 1024 ** 3;

interface Place {
  readonly cluster: LocalCluster;
  readonly person: Client;
  readonly runs: number;
}

/** The cost of Secrets without a reference, in the namespace of a referenced one, or elsewhere. */
export const unrelatedSecrets: Workload = {
  name: "secrets",
  title: "Unrelated Secrets of 20 KB",
  async run({ secrets, runs }, report) {
    await using cluster = await startOperatorCluster({
      etcdFlags: [`--quota-backend-bytes=${ETCD_QUOTA}`],
    });
    const person = await adminClient(cluster);
    const place = { cluster, person, runs };
    const [crowded, empty] = [
      await cluster.createNamespace("crowded"),
      await cluster.createNamespace("empty"),
    ];
    for (const namespace of [crowded, empty]) await createLicense(person, namespace);
    const without = await residentBeside(place, crowded);
    const figures: Figure[] = [{ what: "resident memory with no other Secret", value: without, unit: "MB" }];
    let there = 0;
    for (const count of secrets) {
      report(`creating Secrets until there are ${count}`);
      const first = there;
      await concurrently(count - first, WRITERS, (index) => createUnrelated(person, crowded, first + index));
      there = count;
      report("measuring with them");
      const added = async (namespace: string) =>
        Math.max(0, (await residentBeside(place, namespace)) - without);
      figures.push(
        { what: `added by ${count} in another namespace`, value: await added(empty), unit: "MB", limit: 5 },
        {
          what: `added by ${count} in the same namespace`,
          value: await added(crowded),
          unit: "MB",
          limit: 5,
        },
      );
    }
    return figures;
  },
};

/** The memory of an operator with one control plane, in that namespace, that refers to one Secret. */
async function residentBeside({ cluster, person, runs }: Place, namespace: string): Promise<number> {
  const { metadata } = await person.create(CoderControlPlane, referringControlPlane(namespace));
  const samples: number[] = [];
  for (let run = 1; run <= runs; run++) {
    await using operator = await startBundle(cluster, namespace);
    await untilReported(person, { namespace, name: metadata.name });
    samples.push(await settledResident(operator.program.pid));
    await operator.stop("SIGTERM");
  }
  await person.delete(CoderControlPlane, { namespace, name: metadata.name });
  return median(samples);
}

async function createLicense(person: Client, namespace: string): Promise<void> {
  await person.create(Secret, { metadata: { namespace, name: "license" }, stringData: { license: "none" } });
}

async function createUnrelated(person: Client, namespace: string, index: number): Promise<void> {
  const data = { blob: randomBytes(SECRET_BYTES).toString("base64") };
  await person.create(Secret, { metadata: { namespace, name: `unrelated-${index}` }, data });
}
