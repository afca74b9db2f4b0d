import { type Condition, Deployment, findCondition, Pod } from "kube-controller-runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const MINUTE = 60_000;
const DAEMONS = /\/provisionerdaemons/;

let world: MemoryWorld;
let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeEach(async () => {
  world = new MemoryWorld();
  stage = await openStage(world, "daemons");
  coderd = await stage.controlPlane();
});
afterEach(() => stage[Symbol.asyncDispose]());

const pass = (ms: number) => world.clock.advance(ms);
const condition = (name: string, type: string, state: object): Promise<Condition> =>
  stage.eventually(
    async () => {
      const present = findCondition((await stage.status(name)).conditions, type);
      expect(present).toMatchObject(state);
      return present as Condition;
    },
    { withinMs: 3 * MINUTE },
  );
const connected = (name: string, state: object) => condition(name, "DaemonsConnected", state);
const ready = (name: string, state: object) => condition(name, "Ready", state);
/** Whether it stops being ready in the next minutes. */
const staysReady = () =>
  ready("pool", { status: "False" }).then(
    () => false,
    () => true,
  );
const hasKey = (id: string | undefined) => coderd.keys.some((key) => key.id === id);

/** The Deployment says that its pods run; whether their daemons are connected is another question. */
async function startSilently(name: string, spec = {}): Promise<string> {
  await stage.create(name, spec);
  await stage.eventually(() => stage.get(Deployment, `provisioner-${name}`));
  const { metadata } = await stage.pods.start(name);
  await stage.world.markDeploymentReady(stage.namespace, `provisioner-${name}`);
  return metadata.name;
}

async function secretOf(name: string): Promise<string> {
  const { secretRef } = await stage.status(name);
  return (await stage.keyIn(secretRef?.name ?? "", secretRef?.key)) ?? "";
}

describe("a provisioner", () => {
  test("is ready only when its daemon is connected, two seconds later at most", async () => {
    const pod = await startSilently("pool");
    const waiting = { status: "False", reason: "Connecting" };
    expect((await connected("pool", waiting)).message).toBe(
      "0 of 1 daemons are connected to coderd; the others are starting.",
    );
    await ready("pool", waiting);
    coderd.connectDaemon(pod, await secretOf("pool"));
    const since = stage.clock.now();
    await ready("pool", { status: "True" });
    expect(stage.clock.now() - since).toBeLessThanOrEqual(2_000);
    await connected("pool", { status: "True", reason: "Connected" });
  });

  test("whose daemon does not connect is stalled, and the pod, the URL and the log are named", async () => {
    const pod = await startSilently("pool");
    const { message } = await ready("pool", { status: "False", reason: "Stalled" });
    expect(message).toContain(`Pod "${pod}" has run for more than 60 s`);
    expect(message).toContain(`kubectl -n ${stage.namespace} logs ${pod}`);
    await condition("pool", "Stalled", { status: "True", reason: "DaemonsNotConnected", message });
    coderd.connectDaemon(pod, await secretOf("pool"));
    await ready("pool", { status: "True" });
    const { conditions } = await stage.status("pool");
    expect(findCondition(conditions, "Stalled")).toBeUndefined();
  });

  test("reads that daemons which set another URL go elsewhere", async () => {
    await startSilently("pool", { extraEnv: [{ name: "CODER_URL", value: "http://elsewhere" }] });
    const { message } = await ready("pool", { status: "False", reason: "Stalled" });
    expect(message).toContain("spec.extraEnv sets CODER_URL");
  });

  test("is not connected by daemons of others, with its pod's name or its key", async () => {
    const pod = await startSilently("pool");
    const organization = coderd.organizations[0]?.id ?? "";
    coderd.connectDaemon(pod, coderd.createKey(organization, "of-others", {}).plaintext);
    coderd.connectDaemon("somewhere-else", await secretOf("pool"));
    await ready("pool", { status: "False", reason: "Stalled" });
  });

  test("stays ready while it grows, and says so", async () => {
    await stage.serve("pool");
    const stays = staysReady();
    await stage.change("pool", { replicas: 2 });
    await connected("pool", { status: "True", reason: "Scaling" });
    const { metadata } = await stage.pods.start("pool");
    await stage.world.markDeploymentReady(stage.namespace, "provisioner-pool");
    coderd.connectDaemon(metadata.name, await secretOf("pool"));
    await connected("pool", { status: "True", reason: "Connected" });
    expect(await stays).toBe(true);
  });

  test("whose daemon is lost is no longer ready, within two minutes", async () => {
    await stage.serve("pool");
    await pass(5 * MINUTE);
    coderd.daemons = [];
    await pass(2 * MINUTE);
    await ready("pool", { status: "False", reason: "Stalled" });
  });

  test("that wants none is connected with none", async () => {
    await stage.create("pool", { replicas: 0 });
    await stage.rollOut("pool");
    await connected("pool", { status: "True", reason: "ScaledToZero" });
    await ready("pool", { status: "True" });
  });

  test.each([
    ["v2.30.1", "VersionSkew"],
    ["v2.36.7-devel+abc", "Connected"],
  ])("with daemons of version %s is ready, and connected with reason %s", async (version, reason) => {
    await stage.publish("coder", { version: "v2.36.1" });
    await stage.serve("pool");
    for (const daemon of coderd.daemons) daemon.version = version;
    await pass(2 * MINUTE);
    await connected("pool", { status: "True", reason });
    await ready("pool", { status: "True" });
  });
});

describe("while coderd does not answer", () => {
  const fault = { kind: "cut" } as const;

  test("daemons that were connected leave their provisioner ready, with the condition Unknown", async () => {
    await stage.serve("pool");
    coderd.faults.inject({ on: DAEMONS, fault });
    await pass(2 * MINUTE);
    const { message } = await connected("pool", { status: "Unknown", reason: "CoderdUnreachable" });
    expect(message).toContain("no key is deleted");
    await ready("pool", { status: "True" });
  });

  test("a new spec does not become ready, and no key is deleted", async () => {
    const before = await stage.serve("pool", { tags: { a: "1" } });
    const end = coderd.faults.inject({ on: DAEMONS, fault });
    await stage.change("pool", { tags: { a: "2" } });
    await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    await stage.rollOut("pool");
    await ready("pool", { status: "False", reason: "DaemonsUnknown" });
    await pass(10 * MINUTE);
    expect(hasKey(before.provisionerKeyID)).toBe(true);
    const rotating = await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    expect(rotating.message).toContain("when coderd is available again");
    end();
    await stage.untilSettled("pool");
    expect(hasKey(before.provisionerKeyID)).toBe(false);
  });
});

test("where the operator may not ask, ready pods count, also for the end of a key", async () => {
  const before = await stage.serve("pool", { tags: { a: "1" } });
  const body = { message: "Resource not found or you do not have access to this resource" };
  coderd.faults.inject({ on: DAEMONS, fault: { kind: "answer", status: 404, body } });
  await stage.change("pool", { tags: { a: "2" } });
  await stage.rollOut("pool");
  const { message } = await connected("pool", { status: "Unknown", reason: "NotPermitted" });
  expect(message).toContain("ready pods count as connected");
  await stage.untilSettled("pool");
  expect(hasKey(before.provisionerKeyID)).toBe(false);
});

describe("a key that was replaced", () => {
  test("is kept while the new daemons can't connect, and status says why", async () => {
    const before = await stage.serve("pool", { tags: { a: "1" }, replicas: 2 });
    await stage.change("pool", { tags: { a: "2" } });
    await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    await stage.rollOut("pool");
    coderd.daemons = coderd.daemons.slice(1);
    await pass(10 * MINUTE);
    expect(hasKey(before.provisionerKeyID)).toBe(true);
    const { message } = await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    expect(message).toContain("when the daemons are connected with the new key (1 of 2)");
    await ready("pool", { status: "False", reason: "Stalled" });
    await stage.pods.replace("pool");
    await ready("pool", { status: "True" });
    await stage.untilSettled("pool");
    expect(hasKey(before.provisionerKeyID)).toBe(false);
  });

  test("is deleted although a pod can't run, when no pod is left of the old key", async () => {
    const before = await stage.serve("pool", { tags: { a: "1" }, replicas: 3 });
    await stage.change("pool", { tags: { a: "2" } });
    await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    await stage.rollOut("pool");
    const pods = await stage.person.list(Pod, { namespace: stage.namespace });
    const [crashing, unscheduled] = pods.items.map(({ metadata }) => metadata.name);
    coderd.daemons = coderd.daemons.filter(({ name }) => name !== crashing && name !== unscheduled);
    const container = { name: "provisioner", image: "i", imageID: "", ready: false, restartCount: 3 };
    const state = { waiting: { reason: "CrashLoopBackOff" } };
    const crashed = [{ ...container, state, lastState: { terminated: { exitCode: 1 } } }];
    for (const [name, containerStatuses] of [[crashing, crashed] as const, [unscheduled, null] as const])
      await stage.person.patchStatus(Pod, stage.ref(name ?? ""), { status: { containerStatuses } });
    const counts = { replicas: 3, updatedReplicas: 3, availableReplicas: 1 };
    await stage.person.patchStatus(Deployment, stage.ref("provisioner-pool"), { status: counts });
    await stage.eventually(() => expect(hasKey(before.provisionerKeyID)).toBe(false));
    await ready("pool", { status: "False" });
  });

  test("is kept while a pod of the old key is left, also when the new daemons are connected", async () => {
    const before = await stage.serve("pool", { tags: { a: "1" }, replicas: 2 });
    await stage.change("pool", { tags: { a: "2" } });
    await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    await stage.pods.replace("pool");
    const { metadata } = await stage.get(Deployment, "provisioner-pool");
    const status = {
      observedGeneration: metadata.generation,
      replicas: 3,
      updatedReplicas: 2,
      availableReplicas: 3,
    };
    await stage.person.patchStatus(Deployment, stage.ref("provisioner-pool"), { status });
    await pass(10 * MINUTE);
    expect(hasKey(before.provisionerKeyID)).toBe(true);
  });

  test("is kept while a daemon builds with it, also one whose pod is not ours to see", async () => {
    const before = await stage.serve("pool", { tags: { a: "1" } });
    const busy = coderd.connectDaemon("elsewhere", await secretOf("pool"));
    const job = coderd.jobs.submit({ organization: before.organizationID ?? "", tags: { a: "1" } });
    if (!busy || coderd.jobs.acquire(busy) !== job) throw new Error("no daemon builds");
    await stage.change("pool", { tags: { a: "2" } });
    await stage.rollOut("pool");
    await pass(10 * MINUTE);
    const { message } = await stage.untilCondition("pool", "ProvisionerKeyReady", { reason: "Rotating" });
    expect(message).toContain('when daemon "elsewhere" has finished its build');
    expect(hasKey(before.provisionerKeyID)).toBe(true);
    coderd.jobs.finish(job);
    await stage.untilSettled("pool");
    expect(hasKey(before.provisionerKeyID)).toBe(false);
  });
});

describe("daemons are requested from coderd", () => {
  test("once for all pools, every two seconds while some are missing, and less often after a while", async () => {
    for (const name of ["a", "b", "c"]) await startSilently(name);
    await connected("c", { status: "False" });
    const before = coderd.count(DAEMONS);
    await pass(10_000);
    expect(coderd.count(DAEMONS) - before).toBeLessThanOrEqual(6);
    expect(coderd.count(DAEMONS) - before).toBeGreaterThanOrEqual(4);
    await pass(20 * MINUTE);
    const later = coderd.count(DAEMONS);
    await pass(5 * MINUTE);
    expect(coderd.count(DAEMONS) - later).toBeLessThanOrEqual(8);
  });

  test("every two minutes while all are connected, whatever the number of pools", async () => {
    for (const name of ["a", "b", "c"]) await stage.serve(name);
    await pass(5 * MINUTE);
    const before = coderd.count(DAEMONS);
    await pass(20 * MINUTE);
    expect(coderd.count(DAEMONS) - before).toBeLessThanOrEqual(11);
  });
});

test("a pod that moves to another node leaves its provisioner ready", async () => {
  await stage.serve("pool");
  const stays = staysReady();
  const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
  await stage.pods.end("pool");
  expect(items).toHaveLength(1);
  await stage.touch("pool", "a look in between");
  const { metadata } = await stage.pods.start("pool");
  await pass(4_000);
  coderd.connectDaemon(metadata.name, await secretOf("pool"));
  await pass(4_000);
  expect(await stays).toBe(true);
  const { status } = await stage.get(CoderProvisioner, "pool");
  expect(findCondition(status?.conditions, "DaemonsConnected")?.status).toBe("True");
});
