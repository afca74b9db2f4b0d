import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, findCondition, Secret } from "kube-controller-runtime";
import { adminClient } from "kube-controller-runtime/testing";
import { aControlPlane } from "../../lab/builders.ts";
import { startOperatorCluster } from "../../lab/cluster.ts";
import { StaticAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { fakeLicense } from "../../lab/coderd/licenses.ts";
import { startCoderdServer } from "../../lab/coderd/server.ts";
import type { OperatorProcess } from "../../lab/operator-process.ts";
import { CoderControlPlane, CoderGroup } from "../../src/api/v1alpha1/kinds.ts";
import { Follower } from "../follow.ts";
import { metric, startBundle, whileRunning } from "../operator.ts";
import { concurrently, type Figure, timed, type Workload } from "../workload.ts";

const GROUPS = 500;
const MEMBERS = 2_000;
/** coderd takes them in requests of 500. */
const MEMBER_REQUESTS = 4;
const WRITERS = 16;
const POLL_MS = 100;
const MAX_BUSY_MS = 100;

const NAME = "coder";
const READS = /^GET .*\/organizations\/[^/]+\/(groups|members)$/;
const WRITES = /^(POST|PATCH|DELETE) .*\/groups/;
const usernames = Array.from({ length: MEMBERS }, (_, index) => `person-${index}`);

/** Many groups of one organization, one of which has many members. */
export const groups: Workload = {
  name: "groups",
  title: `${GROUPS} groups, and one of them with ${MEMBERS} members`,
  async run(_scale, report) {
    await using cluster = await startOperatorCluster();
    const person = await adminClient(cluster);
    const namespace = await cluster.createNamespace("groups");
    const server = await startCoderdServer();
    await using _ = { [Symbol.asyncDispose]: () => server.close() };
    using follower = new Follower(person);
    await follower.playKubelet();
    await using operator = await startBundle(cluster, namespace, [`--coderd-access=${server.url}`]);
    const accounts = new StaticAccounts();
    const coderd = server.add({ accounts }, { host: `${NAME}.${namespace}.svc.cluster.local` });
    const run = { person, namespace, coderd, operator };
    await serve(run, accounts);
    report(`creating ${GROUPS} groups`);
    const created = await measured(run, async () => {
      await concurrently(GROUPS, WRITERS, (index) => createGroup(run, `group-${index}`));
      await untilReady(run);
    });
    report(`adding ${MEMBERS} members to one of them, and removing half of them`);
    const grown = await measured(run, () => setMembers(run, usernames));
    const shrunk = await measured(run, () => setMembers(run, usernames.slice(MEMBERS / 2)));
    return [
      ...figures(`${GROUPS} groups`, created, GROUPS),
      ...figures(`${MEMBERS} new members`, grown, MEMBER_REQUESTS),
      ...figures(`${MEMBERS / 2} members less`, shrunk, MEMBER_REQUESTS / 2),
    ];
  },
};

interface Run {
  readonly person: Client;
  readonly namespace: string;
  readonly coderd: CoderdDeployment;
  readonly operator: OperatorProcess;
}

/** A control plane with a license and an organization of many people. */
async function serve({ person, namespace, coderd }: Run, accounts: StaticAccounts): Promise<void> {
  const token = `${randomBytes(5).toString("hex")}-${randomBytes(11).toString("hex")}`;
  accounts.add(token, { owner: true });
  coderd.addLicense(fakeLicense({ now: Date.now() }));
  coderd.inside.join(coderd.organizations[0]?.id ?? "", ...usernames);
  const tokenSecretRef = { name: "owner" };
  await person.create(Secret, { metadata: { namespace, ...tokenSecretRef }, stringData: { token } });
  await person.create(
    CoderControlPlane,
    aControlPlane({ namespace, name: NAME, spec: { operatorAccess: { tokenSecretRef } } }),
  );
}

function createGroup({ person, namespace }: Run, name: string): Promise<CoderGroup> {
  const { apiVersion, kind } = CoderGroup;
  const spec = { controlPlaneRef: { name: NAME }, quotaAllowance: 1 };
  return person.create(CoderGroup, { apiVersion, kind, metadata: { namespace, name }, spec });
}

async function setMembers(run: Run, members: readonly string[]): Promise<void> {
  const ref = { namespace: run.namespace, name: "group-0" };
  await run.person.mergePatch(CoderGroup, ref, { spec: { members } });
  await untilReady(run);
}

async function untilReady({ person, namespace }: Run): Promise<void> {
  const isReady = ({ metadata, status }: CoderGroup) => {
    const ready = findCondition(status?.conditions, "Ready");
    return ready?.status === "True" && ready.observedGeneration === metadata?.generation;
  };
  for (;;) {
    const { items } = await person.list(CoderGroup, { namespace });
    if (items.length === GROUPS && items.every(isReady)) return;
    await sleep(POLL_MS);
  }
}

interface Measured {
  readonly tookMs: number;
  readonly reads: number;
  readonly writes: number;
  readonly busyMs: number;
  readonly processorSeconds: number;
}

async function measured({ operator, coderd }: Run, work: () => Promise<void>): Promise<Measured> {
  // Each scrape starts the measurement of the event loop again.
  const before = await operator.metrics();
  const [reads, writes] = [coderd.count(READS), coderd.count(WRITES)];
  const tookMs = await whileRunning(operator, timed(work));
  const after = await operator.metrics();
  const cpu = (exposition: string) => metric(exposition, "process_cpu_seconds_total");
  return {
    tookMs,
    reads: coderd.count(READS) - reads,
    writes: coderd.count(WRITES) - writes,
    busyMs: metric(after, "nodejs_eventloop_lag_max_seconds") * 1_000,
    processorSeconds: cpu(after) - cpu(before),
  };
}

function figures(
  what: string,
  { tookMs, reads, writes, busyMs, processorSeconds }: Measured,
  most: number,
): Figure[] {
  return [
    { what: `${what}: time`, value: tookMs / 1_000, unit: "s" },
    { what: `${what}: processor time`, value: processorSeconds, unit: "s" },
    { what: `${what}: requests that read lists`, value: reads, unit: "", limit: 10 },
    { what: `${what}: requests that change groups`, value: writes, unit: "", limit: most },
    { what: `${what}: longest turn of the event loop`, value: busyMs, unit: "ms", limit: MAX_BUSY_MS },
  ];
}
