import { type Client, Secret } from "kube-controller-runtime";
import { adminClient, type LocalCluster } from "kube-controller-runtime/testing";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import type { Postgres } from "../../lab/postgres.ts";
import { CoderControlPlane, CoderProvisioner } from "../../src/api/v1alpha1/kinds.ts";
import { Follower } from "../follow.ts";
import { startBundle, whileRunning } from "../operator.ts";
import { untilCalm } from "../proc.ts";
import { concurrently, median, type Report } from "../workload.ts";
import { baselineSeconds } from "./baseline.ts";
import { Census, DAEMONS } from "./census.ts";
import { type Coderds, startCoderds } from "./coderds.ts";
import { controlPlaneName, provisionerName } from "./names.ts";
import { type FleetOperator, type StartOperator, startOurs } from "./operators.ts";
import { playDaemons, runsDaemons } from "./pods.ts";
import type { FleetShape } from "./shape.ts";

const WRITERS = 16;

interface Parts {
  readonly shape: FleetShape;
  readonly cluster: LocalCluster;
  readonly operator: FleetOperator;
  /** Under which the API server knows the operator. */
  readonly user: string;
  readonly coderds: Coderds;
  readonly person: Client;
  readonly namespace: string;
  readonly census: Census;
  readonly resources: AsyncDisposableStack;
}

/** Prepares a fleet: a cluster, coderds, and an operator that leads and is idle. */
export async function prepareFleet(
  shape: FleetShape,
  postgres: Postgres,
  start: StartOperator = startOurs,
): Promise<Fleet> {
  await using resources = new AsyncDisposableStack();
  const { url: databaseUrl } = await postgres.createDatabase("migrated");
  const cluster = resources.use(await startOperatorCluster({ audit: true }));
  const person = await adminClient(cluster);
  const namespace = await cluster.createNamespace("fleet");
  const coderds = resources.use(await startCoderds(shape, { namespace, databaseUrl }));
  const follower = resources.use(new Follower(person));
  const census = resources.use(new Census(shape.size));
  await Promise.all([
    census.begin(follower),
    follower.playKubelet((deployment) => !runsDaemons(deployment)),
    playDaemons(follower, person, coderds),
  ]);
  // Said here, because the Go operator takes TLS for granted where the URL says nothing.
  const database = `${databaseUrl}?sslmode=disable`;
  for (const [name, value] of Object.entries({ license: fakeLicense(), database }))
    await person.create(Secret, { metadata: { namespace, name }, stringData: { [name]: value } });
  const { operator, user } = await start({ cluster, namespace, coderdUrl: coderds.url });
  resources.use(operator);
  await untilCalm(cluster.apiServerPid);
  return new Fleet({
    ...{ shape, cluster, operator, user, coderds, person, namespace, census },
    resources: resources.move(),
  });
}

/** The convergence of a fleet. */
interface Convergence {
  /** The share of the total time after which half of the objects were converged. */
  readonly medianShare: number;
  readonly firstStatusMs: readonly number[];
}

/** Control planes with license and operator access, and a provisioner for each. */
export class Fleet implements AsyncDisposable {
  readonly shape: FleetShape;
  readonly cluster: LocalCluster;
  readonly operator: FleetOperator;
  /** Under which the API server knows the operator. */
  readonly user: string;
  readonly coderds: Coderds;
  readonly #parts: Parts;

  /** Use `prepareFleet`. */
  constructor(parts: Parts) {
    this.shape = parts.shape;
    this.cluster = parts.cluster;
    this.operator = parts.operator;
    this.user = parts.user;
    this.coderds = parts.coderds;
    this.#parts = parts;
  }

  /** Creates all objects at once; resolves when each is Ready, licensed, and has its daemons. */
  async converge(report: Report): Promise<Convergence> {
    const { census } = this.#parts;
    const startedAt = performance.now();
    const creation = concurrently(this.shape.size, WRITERS, (index) => this.#createPair(index));
    await whileRunning(this.operator, Promise.all([creation, census.complete(report)]));
    const convergedMs = census.convergedMs(startedAt);
    return {
      medianShare: median(convergedMs) / Math.max(...convergedMs),
      firstStatusMs: census.firstStatusMs,
    };
  }

  /** Starts another operator, which waits for the Lease. */
  async startStandby(): Promise<OperatorProcess> {
    const { cluster, namespace, coderds, resources } = this.#parts;
    return resources.use(await startBundle(cluster, namespace, [`--coderd-access=${coderds.url}`]));
  }

  /** Stops the operator; returns the time in seconds that a plain client needs for the fleet's writes. */
  async rewritePlainly(): Promise<number> {
    const { cluster, person, namespace, shape } = this.#parts;
    await this.operator.stop("SIGTERM");
    await untilCalm(cluster.apiServerPid);
    return baselineSeconds({ cluster, person, namespace, size: shape.size, writers: WRITERS });
  }

  async #createPair(index: number): Promise<void> {
    const { person, namespace } = this.#parts;
    const name = controlPlaneName(index);
    const secretKeyRef = { name: "database", key: "database" };
    await person.create(CoderControlPlane, {
      metadata: { namespace, name },
      spec: {
        extraEnv: [{ name: "CODER_PG_CONNECTION_URL", valueFrom: { secretKeyRef } }],
        licenseSecretRef: { name: "license" },
      },
    });
    const spec = { controlPlaneRef: { name }, replicas: DAEMONS, tags: { pool: name } };
    await person.create(CoderProvisioner, { metadata: { namespace, name: provisionerName(index) }, spec });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.resources.disposeAsync();
  }
}
