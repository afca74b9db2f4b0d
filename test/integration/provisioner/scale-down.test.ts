import { Deployment, Pod } from "kube-controller-runtime";
import { eventually } from "kube-controller-runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CoderdDeployment, Daemon } from "../../../lab/coderd/deployment.ts";
import { PodRunner } from "../../../lab/pod-runner/pod-runner.ts";
import { simulatedCoder } from "../../../lab/pod-runner/simulated-coder.ts";
import { sharedClusterWithControllers } from "../../support/cluster/shared.ts";
import { openRealWorld } from "../../support/world/real.ts";
import { QueueStage } from "../../world/queue/stage.ts";

const [DAEMONS, BUSY] = [5, 2];
/** One for each choice of who is busy; test/world/queue has more of what can happen, and `make shrink` real daemons. */
const ROUNDS = DAEMONS;
const POLL_MS = 5_000;
const LIMIT = { withinMs: 60_000 };

const owned = new AsyncDisposableStack();
let stage: QueueStage;
let coderd: CoderdDeployment;
let organization: string;
beforeAll(async () => {
  const world = await openRealWorld(await sharedClusterWithControllers());
  stage = owned.use(new QueueStage(world, await world.createNamespace("spared")));
  await stage.startOperator();
  coderd = await stage.controlPlane();
  organization = coderd.organizations[0]?.id ?? "";
  const { person: client, namespace } = stage;
  owned.use(new PodRunner({ client, launch: simulatedCoder(coderd), namespaces: [namespace] }));
});
afterAll(() => owned.disposeAsync());

/** PollState at the queue come as fast as Kubernetes can follow. */
function soon(check: () => Promise<void>): Promise<void> {
  return eventually(async () => {
    stage.clock.jump(POLL_MS);
    await check();
  }, LIMIT);
}

const isBusy = (daemon: Daemon) => coderd.jobs.currentOf(daemon) !== undefined;

/** Pods that are not being deleted. */
async function stayingPods(): Promise<string[]> {
  const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return staying.map(({ metadata }) => metadata.name).sort();
}

/** All daemons of a full pool, each with a job. */
async function fillPool(): Promise<readonly Daemon[]> {
  for (let missing = DAEMONS - coderd.daemons.filter(isBusy).length; missing > 0; missing--)
    coderd.jobs.submit({ organization });
  await soon(async () => {
    for (const daemon of coderd.daemons) coderd.jobs.acquire(daemon);
    expect(coderd.daemons.filter(isBusy)).toHaveLength(DAEMONS);
  });
  return coderd.daemons;
}

test(`of ${DAEMONS} daemons of which ${BUSY} are busy, a real ReplicaSet removes only idle ones, ${ROUNDS} times of ${ROUNDS}`, {
  timeout: 240_000,
}, async () => {
  const autoscaling = { minReplicas: 0, maxReplicas: DAEMONS, scaleDownDelaySeconds: 0, pollSeconds: 5 };
  await stage.create("pool", { replicas: 0, autoscaling, terminationGracePeriodSeconds: 1 });
  for (let round = 0; round < ROUNDS; round++) {
    const daemons = await fillPool();
    // Another choice in every round: pods that are old and new, first and last.
    const keeps = (index: number) => (index + round) % DAEMONS < BUSY;
    const kept = daemons.filter((_, index) => keeps(index));
    for (const daemon of daemons.filter((each) => !kept.includes(each))) {
      const job = coderd.jobs.currentOf(daemon);
      if (job) coderd.jobs.finish(job);
    }
    await soon(async () => {
      expect((await stage.get(Deployment, "provisioner-pool")).spec?.replicas).toBe(BUSY);
      expect(await stayingPods()).toHaveLength(BUSY);
      expect(coderd.daemons).toHaveLength(BUSY);
    });
    expect(await stayingPods(), `round ${round}`).toEqual(kept.map(({ name }) => name).sort());
  }
});
