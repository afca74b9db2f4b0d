import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Secret } from "kube-controller-runtime";
import { adminClient } from "kube-controller-runtime/testing";
import { aControlPlane } from "../../lab/builders.ts";
import { startOperatorCluster } from "../../lab/cluster.ts";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import { CoderControlPlane } from "../../src/api/v1alpha1/kinds.ts";
import { Changes } from "../changes.ts";
import { Follower } from "../follow.ts";
import { metric, startBundle, untilReported, whileRunning } from "../operator.ts";
import { processorSeconds, untilCalm } from "../proc.ts";
import { concurrently, type Figure, quantile, timed, type Workload } from "../workload.ts";

const QUIET = 100;
const CHANGES = 300;
const WRITERS = 16;
/** Until the initial events are written. */
const SETTLE_MS = 8_000;
/** After this time without a run, the operator has handled all events. */
const SILENCE_MS = 500;
const POLL_MS = 50;
const HEAT_MS = 10_000;

const HOT = "hot";
const SECRETS = Array.from({ length: WRITERS }, (_, index) => `hot-${index}`);
const quietName = (index: number) => `quiet-${index % QUIET}`;

/** One control plane with many events, and its effect on all others. */
export const hotNeighbor: Workload = {
  name: "hot",
  title: `One hot control plane beside ${QUIET} quiet ones`,
  async run(_scale, report) {
    await using cluster = await startOperatorCluster();
    const person = await adminClient(cluster);
    const namespace = await cluster.createNamespace("hot");
    using follower = new Follower(person);
    await follower.playKubelet();
    const changes = new Changes(person, namespace);
    await changes.begin(follower);
    await using operator = await startBundle(cluster, namespace);
    await createAll(person, namespace);
    await sleep(SETTLE_MS);
    await untilCalm(cluster.apiServerPid);
    report(`changing quiet ones ${CHANGES} times, nothing else going on`);
    const alone = await whileRunning(
      operator,
      observe(operator, (name) => changes.make(name)),
    );
    report(`scaling their Deployments ${CHANGES} times`);
    const drift = await whileRunning(
      operator,
      observe(operator, (name) => changes.makeDrift(name)),
    );
    report("and again, while the hot one hears of changes without end");
    const storm = new Storm(person, namespace, SECRETS);
    const beside = await whileRunning(
      operator,
      observe(operator, (name) => changes.make(name)),
    );
    const events = await storm.end();
    await untilSilent(operator);
    report("the hot one alone");
    const hot = await heat(operator, new Storm(person, namespace, SECRETS));
    return [
      ...latencies("change of a quiet one, nothing else going on", alone),
      ...latencies("repair of a scaled Deployment, nothing else going on", drift),
      ...latencies("change of a quiet one, beside the hot one", beside),
      { what: "events of the hot one meanwhile", value: events / beside.seconds, unit: "/s" },
      { what: "processor used meanwhile", value: beside.processorSeconds / beside.seconds, unit: "cores" },
      ...hot,
    ];
  },
};

async function createAll(person: Client, namespace: string): Promise<void> {
  await concurrently(WRITERS, WRITERS, (index) =>
    person.create(Secret, {
      metadata: { namespace, name: SECRETS[index] ?? "" },
      stringData: { content: "" },
    }),
  );
  const create = async (controlPlane: CoderControlPlane) => {
    const { metadata } = await person.create(CoderControlPlane, controlPlane);
    await untilReported(person, { namespace, name: metadata.name });
  };
  // The operator reads the Secrets with coderd's certificates, because it must trust them.
  await create(aControlPlane({ namespace, name: HOT, spec: { tls: { secretNames: SECRETS } } }));
  await concurrently(QUIET, WRITERS, (index) => create(aControlPlane({ namespace, name: quietName(index) })));
}

/** The observations while idle control planes were changed one by one. */
interface Observation {
  readonly latenciesMs: readonly number[];
  readonly seconds: number;
  readonly processorSeconds: number;
}

async function observe(
  operator: OperatorProcess,
  change: (name: string) => Promise<void>,
): Promise<Observation> {
  const { pid } = operator.program;
  const processor = await processorSeconds(pid);
  const latenciesMs: number[] = [];
  const tookMs = await timed(async () => {
    for (let index = 0; index < CHANGES; index++)
      latenciesMs.push(await timed(() => change(quietName(index))));
  });
  return {
    latenciesMs,
    seconds: tookMs / 1_000,
    processorSeconds: (await processorSeconds(pid)) - processor,
  };
}

function latencies(what: string, { latenciesMs }: Observation): Figure[] {
  return [
    { what: `${what}, p50`, value: quantile(latenciesMs, 0.5), unit: "ms" },
    { what: `${what}, p99`, value: quantile(latenciesMs, 0.99), unit: "ms" },
  ];
}

/**
 * The operator's work during a storm without any other changes: all runs are those of the hot control plane.
 */
async function heat(operator: OperatorProcess, storm: Storm): Promise<Figure[]> {
  const before = await runsOf(operator);
  await sleep(HEAT_MS);
  const events = await storm.end();
  const silentMs = await timed(() => untilSilent(operator));
  const runs = (await runsOf(operator)) - before;
  const seconds = HEAT_MS / 1_000;
  return [
    { what: "events of the hot one alone", value: events / seconds, unit: "/s" },
    { what: "runs of the hot one alone", value: runs / seconds, unit: "/s" },
    { what: "runs for an event", value: runs / events, unit: "×", limit: 1 },
    { what: "runs go on after its last event", value: (silentMs - SILENCE_MS) / 1_000, unit: "s" },
  ];
}

async function runsOf(operator: OperatorProcess): Promise<number> {
  return metric(await operator.metrics(), "coder_k8s_reconcile_total");
}

async function untilSilent(operator: OperatorProcess): Promise<void> {
  let [runs, since] = [await runsOf(operator), performance.now()];
  while (performance.now() - since < SILENCE_MS) {
    await sleep(POLL_MS);
    const now = await runsOf(operator);
    if (now !== runs) since = performance.now();
    runs = now;
  }
}

/** Writers that change one Secret each, as fast as the API server allows. */
class Storm {
  readonly #person: Client;
  readonly #namespace: string;
  readonly #writers: Promise<void>[];
  #over = false;
  #written = 0;

  constructor(person: Client, namespace: string, secrets: readonly string[]) {
    this.#person = person;
    this.#namespace = namespace;
    this.#writers = secrets.map((name) => this.#write(name));
  }

  /** Returns the number of changes. */
  async end(): Promise<number> {
    this.#over = true;
    await Promise.all(this.#writers);
    return this.#written;
  }

  async #write(name: string): Promise<void> {
    while (!this.#over) {
      const stringData = { content: `${this.#written}` };
      await this.#person.mergePatch(Secret, { namespace: this.#namespace, name }, { stringData });
      this.#written++;
    }
  }
}
