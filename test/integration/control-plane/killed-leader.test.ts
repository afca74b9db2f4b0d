import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import type { Client } from "../../../src/runtime/client/client.ts";
import { find } from "../../../src/runtime/client/find.ts";
import { Lease, Role, RoleBinding } from "../../../src/runtime/kinds.ts";
import type { Kind } from "../../../src/runtime/object.ts";
import { adminClient } from "../../support/admin-client.ts";
import { aControlPlane } from "../../support/builders.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { Dice } from "../../support/dice.ts";
import { eventually } from "../../support/eventually.ts";
import { type OperatorProcess, startOperatorProcess } from "../../support/operator-process.ts";
import { childKinds, essence, essenceOfChildren } from "./dump.ts";

const PATIENCE = { withinMs: 30_000 };
const LEASE = "coder-k8s-controller.coder.com";
const SEED = 20_261_115;
const KILLS = 20;
/** So often the standby waits for the lease to run out by itself; to wait each time would take minutes. */
const PATIENT_EVERY = 8;

const cluster = sharedCluster();
let person: Client;
let home: string;
let workspaces: string;
let leader: OperatorProcess;
let standby: Promise<OperatorProcess>;

beforeEach(async () => {
  person = await adminClient(cluster);
  [home, workspaces] = await Promise.all([
    cluster.createNamespace("killed"),
    cluster.createNamespace("killed-ws"),
  ]);
  leader = await start();
  standby = start();
  await standby;
});
afterEach(async () => {
  await leader?.[Symbol.asyncDispose]();
  await (await standby)?.[Symbol.asyncDispose]();
});

function start(): Promise<OperatorProcess> {
  return startOperatorProcess(cluster, [
    `--namespaces=${home},${workspaces}`,
    `--leader-election-namespace=${home}`,
  ]);
}

const fullSpec = (): ControlPlaneSpec => ({
  expose: { ingress: { host: "coder.example.com" } },
  serviceAccount: { annotations: { "example.com/role": "coder" } },
  rbac: { workspaceNamespaces: [workspaces] },
});

/** Makes, changes and removes children of nearly every kind. */
const changes = (name: string) => ({
  expose: null,
  replicas: 2,
  service: { port: 8080 },
  serviceAccount: { name: `${name}-robot`, annotations: null },
  tls: { secretNames: ["web"] },
});

/** What the leader is doing when it is killed. */
interface Deed {
  readonly what: "makes" | "changes" | "removes";
  readonly begin: (name: string) => Promise<unknown>;
}

const create = (name: string) =>
  person.create(CoderControlPlane, aControlPlane({ namespace: home, name, spec: fullSpec() }));
const deeds: readonly Deed[] = [
  { what: "makes", begin: create },
  {
    what: "changes",
    begin: (name) => person.mergePatch(CoderControlPlane, { namespace: home, name }, { spec: changes(name) }),
  },
  { what: "removes", begin: (name) => person.delete(CoderControlPlane, { namespace: home, name }) },
];

/** All that there is of a control plane, itself included, in a form that two of them can be compared by. */
async function stateOf(name: string): Promise<unknown> {
  const ref = { namespace: home, name };
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const foreign = await Promise.all(
    [Role, RoleBinding].map((kind: Kind) => person.list(kind, { namespace: workspaces, labelSelector })),
  );
  const object = await find(person, CoderControlPlane, ref);
  return {
    object: object && essence(object, ref),
    // Without a garbage collector children outlive their owner.
    children: object ? await essenceOfChildren(person, ref) : [],
    foreign: foreign.flatMap(({ items }) => items.map((item) => essence(item, ref))),
  };
}

async function settled(name: string): Promise<void> {
  await eventually(async () => {
    const { metadata, status } = await person.get(CoderControlPlane, { namespace: home, name });
    expect(status?.observedGeneration).toBe(metadata.generation);
  }, PATIENCE);
}

/** The state before and after each deed when nobody is killed. */
async function undisturbed(): Promise<unknown[]> {
  const states: unknown[] = [await stateOf("calm-coder")];
  for (const { what, begin } of deeds) {
    await begin("calm-coder");
    if (what === "removes")
      await eventually(async () => expect(await stateOf("calm-coder")).toEqual(states[0]), PATIENCE);
    else await settled("calm-coder");
    states.push(await stateOf("calm-coder"));
  }
  return states;
}

/** Resolves as soon as so many writes of children have been seen; or when it takes too long to be worth it. */
async function afterWrites(name: string, count: number, begin: () => Promise<unknown>): Promise<void> {
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const stop = new AbortController();
  let left = count;
  const follow = async (kind: Kind, resourceVersion: string) => {
    const options = {
      labelSelector,
      resourceVersion,
      timeoutSeconds: 30,
      idleTimeoutMs: 30_000,
      signal: stop.signal,
    };
    for await (const { type } of person.watch(kind, options))
      if (type !== "BOOKMARK" && --left <= 0) stop.abort();
  };
  const lists = await Promise.all(childKinds.map((kind) => person.list(kind, { labelSelector })));
  // Settled from the start: enough writes may have been seen before `begin` is over.
  const following = Promise.allSettled(
    childKinds.map((kind, index) => follow(kind, lists[index]?.resourceVersion ?? "")),
  );
  await begin();
  if (count > 0) await Promise.race([following, sleep(5_000)]);
  stop.abort();
  await following;
}

/** Leads the cluster to where it would be when the dead leader's time had run out. */
async function expireLease(): Promise<void> {
  const ref = { namespace: home, name: LEASE };
  await person.mergePatch(Lease, ref, { spec: { holderIdentity: null, leaseDurationSeconds: 1 } });
}

/** Makes the other replica the leader, after the first was killed. A new standby is on its way. */
async function takeOver({ patiently }: { patiently: boolean }): Promise<void> {
  if (!patiently) await expireLease();
  const dead = leader;
  leader = await standby;
  await eventually(() => expect(leader.isLeader).toBe(true), PATIENCE);
  // Not before: it might be the one to take the Lease.
  standby = start();
  await dead[Symbol.asyncDispose]();
}

test(`a leader killed at ${KILLS} random points leaves what one would that lives`, {
  timeout: 600_000,
}, async () => {
  const expected = await undisturbed();
  const dice = new Dice(SEED);
  let unfinished = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const index = kill % deeds.length;
    const name = `coder-${Math.floor(kill / deeds.length)}-of-kills`;
    const deed = deeds[index] as Deed;
    const writes = Math.floor(dice.next() * (deed.what === "removes" ? 3 : 9));
    await afterWrites(name, writes, () => deed.begin(name));
    await sleep(dice.next() * 15);
    await leader.stop("SIGKILL");
    if (!isDeepStrictEqual(await stateOf(name), expected[index + 1])) unfinished++;
    await takeOver({ patiently: kill % PATIENT_EVERY === PATIENT_EVERY - 1 });
    const where = `the leader ${deed.what} ${name} and is killed after ${writes} writes`;
    await eventually(async () => expect(await stateOf(name), where).toEqual(expected[index + 1]), PATIENCE);
  }
  expect(unfinished, "kills that hit a leader at work").toBeGreaterThan(KILLS / 2);
});
