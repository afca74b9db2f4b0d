import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, find, type Kind, Lease, Role, RoleBinding } from "kube-controller-runtime";
import { adminClient, Dice, eventually } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { aControlPlane } from "../../../lab/builders.ts";
import { type OperatorProcess, startOperatorProcess } from "../../../lab/operator-process.ts";
import type { ControlPlaneSpec } from "../../../src/api/v1alpha1/control-plane.ts";
import { CoderControlPlane } from "../../../src/api/v1alpha1/kinds.ts";
import { sharedCluster } from "../../support/cluster/shared.ts";
import { essence, essenceOfChildren } from "../../support/dump.ts";
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from "../../support/fault-proxy.ts";

const TIME_LIMIT = { withinMs: 30_000 };
const LEASE = "coder-k8s-controller.coder.com";
const SEED = 20_261_115;

const cluster = sharedCluster();
let person: Client;
let home: string;
let workspaces: string;
let dir: string;
let leader: Replica;
let standby: Promise<Replica>;

beforeEach(async () => {
  person = await adminClient(cluster);
  [home, workspaces, dir] = await Promise.all([
    cluster.createNamespace("killed"),
    cluster.createNamespace("killed-ws"),
    mkdtemp(join(tmpdir(), "coder-k8s-killed-")),
  ]);
  leader = await start();
  await untilLeader(leader);
  standby = start();
  await standby;
});
afterEach(async () => {
  await leader?.[Symbol.asyncDispose]();
  await (await standby)?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** A process of the operator, all of whose requests go through a proxy. */
interface Replica extends AsyncDisposable {
  readonly process: OperatorProcess;
  readonly proxy: FaultProxy;
}

async function start(): Promise<Replica> {
  const proxy = await startFaultProxy(cluster);
  const kubeconfig = join(dir, randomUUID());
  await writeFile(kubeconfig, proxy.kubeconfig({ token: cluster.operator.token }), { mode: 0o600 });
  const process = await startOperatorProcess(cluster, [
    `--kubeconfig=${kubeconfig}`,
    `--namespaces=${home},${workspaces}`,
    `--leader-election-namespace=${home}`,
  ]);
  const end = async () => {
    await process[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  };
  return { process, proxy, [Symbol.asyncDispose]: end };
}

function untilLeader({ process }: Replica): Promise<void> {
  return eventually(() => expect(process.isLeader).toBe(true), TIME_LIMIT);
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

/** The operation during which the leader is killed. */
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
  }, TIME_LIMIT);
}

const isWrite = ({ method, path }: ProxiedRequest) => method !== "GET" && !/\/(leases|events)\b/.test(path);

interface Undisturbed {
  /** The state after the operation. */
  readonly state: unknown;
  /** How many writes the leader needs for it. */
  readonly writes: number;
}

/** The result of each operation if no leader is killed. */
async function undisturbed(): Promise<Undisturbed[]> {
  const before = await stateOf("calm-coder");
  const outcomes: Undisturbed[] = [];
  for (const { what, begin } of deeds) {
    leader.proxy.requests.length = 0;
    await begin("calm-coder");
    if (what === "removes")
      await eventually(async () => expect(await stateOf("calm-coder")).toEqual(before), TIME_LIMIT);
    else await settled("calm-coder");
    const writes = leader.proxy.requests.filter(isWrite).length;
    outcomes.push({ state: await stateOf("calm-coder"), writes });
  }
  return outcomes;
}

interface Point {
  readonly writes: number;
  readonly part: "request" | "answer";
}

/**
 * Resolves when the leader has made this many writes and waits for the next: the request never arrives, or its response
 * never does. Sometimes one write less will do than the time before; then the leader is done instead.
 */
async function untilHeld({ writes, part }: Point, begin: () => Promise<unknown>, done: () => Promise<void>) {
  const { proxy } = leader;
  let left = writes;
  proxy.holds = (request) => (isWrite(request) && left-- <= 0 ? part : undefined);
  await begin();
  await eventually(async () => {
    if (proxy.held === 0) await done();
  }, TIME_LIMIT);
}

/** Leads the cluster to where it would be when the dead leader's time had run out. */
async function expireLease(): Promise<void> {
  const ref = { namespace: home, name: LEASE };
  await person.mergePatch(Lease, ref, { spec: { holderIdentity: null, leaseDurationSeconds: 1 } });
}

/** Makes the other replica the leader, after the first was killed. A new standby is on its way. */
async function takeOver(): Promise<void> {
  await expireLease();
  const dead = leader;
  leader = await standby;
  await untilLeader(leader);
  // Not before: it might be the one to take the Lease.
  standby = start();
  await dead[Symbol.asyncDispose]();
}

// At one point of each deed; test/world/control-plane/crash.test.ts tries all points, in memory.
test("a leader killed in the middle of its writes leaves what one would that lives", {
  timeout: 120_000,
}, async () => {
  const expected = await undisturbed();
  const dice = new Dice(SEED);
  const name = "coder-of-kills";
  for (const [index, { what, begin }] of deeds.entries()) {
    const { state, writes } = expected[index] ?? expect.fail(`no result is known for ${what}`);
    const point: Point = { writes: dice.whole(0, writes - 1), part: dice.pick(["request", "answer"]) };
    const where = `the leader ${what} ${name} and is killed at ${JSON.stringify(point)}`;
    const done = async () => expect(await stateOf(name), where).toEqual(state);
    await untilHeld(point, () => begin(name), done);
    await leader.process.stop("SIGKILL");
    await takeOver();
    await eventually(done, TIME_LIMIT);
  }
});
