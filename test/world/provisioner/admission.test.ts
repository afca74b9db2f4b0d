import { Deployment, findCondition, Pod, type Stored } from "kube-controller-runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { gatedStatus } from "../../support/pod-statuses.ts";
import { openStage, type ProvisionerStage } from "../../support/stages/provisioner.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const GATE = "coder.com/daemon-connected";
const MINUTE = 60_000;
const DAEMONS = /\/provisionerdaemons/;

let world: MemoryWorld;
let stage: ProvisionerStage;
let coderd: CoderdDeployment;
beforeEach(async () => {
  world = new MemoryWorld();
  stage = await openStage(world, "admission");
  coderd = await stage.controlPlane();
});
afterEach(() => stage[Symbol.asyncDispose]());

/** A pod of the newest template, whose container runs: its kubelet waits for nothing but our condition. */
async function startGated(): Promise<string> {
  const { metadata } = await stage.pods.start("pool");
  const status = gatedStatus(stage.clock.now(), GATE);
  await stage.person.patchStatus(Pod, stage.ref(metadata.name), { status });
  return metadata.name;
}

const gateOf = async (pod: string) =>
  (await stage.get(Pod, pod)).status?.conditions?.find(({ type }) => type === GATE);

async function join(pod: string): Promise<void> {
  const { secretRef } = await stage.status("pool");
  coderd.connectDaemon(pod, (await stage.keyIn(secretRef?.name ?? "", secretRef?.key)) ?? "");
}

const writesOfPods = () =>
  stage.operator.transport.requests.filter(({ method, path }) => method !== "GET" && path.includes("/pods/"));

test("the pods of a pool have the gate, and old ones stay until new ones are ready", async () => {
  await stage.serve("pool");
  const { spec } = await stage.get(Deployment, "provisioner-pool");
  expect(spec?.template.spec?.readinessGates).toEqual([{ conditionType: GATE }]);
  expect(spec?.strategy).toMatchObject({ rollingUpdate: { maxUnavailable: 0 } });
});

test("a strategy that the spec gives, or a person has set, is left as it is", async () => {
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } };
  await stage.serve("pool", { strategy });
  expect((await stage.get(Deployment, "provisioner-pool")).spec?.strategy).toEqual(strategy);
});

describe("a new pod", () => {
  beforeEach(async () => {
    await stage.serve("pool");
  });

  test("is not admitted while coderd does not list its daemon with the key in use, and is two seconds after", async () => {
    const pod = await startGated();
    const organization = coderd.organizations[0]?.id ?? "";
    coderd.connectDaemon(pod, coderd.createKey(organization, "of-others", {}).plaintext);
    await stage.touch("pool", "a look");
    await world.clock.advance(10_000);
    expect(await gateOf(pod)).toBeUndefined();
    await join(pod);
    await stage.touch("pool", "another look");
    await stage.eventually(
      async () => expect(await gateOf(pod)).toMatchObject({ status: "True", reason: "Listed" }),
      { withinMs: 2 * MINUTE },
    );
    const ready = (await stage.get(Pod, pod)).status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready?.status).toBe("False");
  });

  test("that does not connect blocks the rollout, which is reported while the old daemon serves", async () => {
    const pod = await startGated();
    await world.clock.advance(2 * MINUTE);
    expect(await gateOf(pod)).toBeUndefined();
    const { conditions } = await stage.status("pool");
    const ready = findCondition(conditions, "Ready");
    expect(ready).toMatchObject({ status: "False", reason: "Stalled" });
    expect(ready?.message).toContain(`1 of 1 daemons are connected to coderd. Pod "${pod}" has run for more`);
  });

  test("is admitted once: neither a restart of the operator nor time writes again", async () => {
    const pod = await startGated();
    await join(pod);
    await stage.eventually(async () => expect(await gateOf(pod)).toBeDefined(), { withinMs: 2 * MINUTE });
    const { status } = (await stage.get(Pod, pod)) as Stored<Pod>;
    const conditions = (status?.conditions ?? []).map((each) => ({ ...each, status: "True", reason: "" }));
    await stage.person.patchStatus(Pod, stage.ref(pod), { status: { conditions } });
    await stage.restart();
    await world.clock.advance(10 * MINUTE);
    expect(writesOfPods()).toEqual([]);
  });

  test("waits while coderd does not answer, and its provisioner says so", async () => {
    const end = coderd.faults.inject({ on: DAEMONS, fault: { kind: "cut" } });
    const pod = await startGated();
    await join(pod);
    await world.clock.advance(5 * MINUTE);
    expect(await gateOf(pod)).toBeUndefined();
    const { conditions } = await stage.status("pool");
    expect(findCondition(conditions, "DaemonsConnected")).toMatchObject({ reason: "CoderdUnreachable" });
    end();
    await stage.eventually(async () => expect(await gateOf(pod)).toBeDefined(), { withinMs: 3 * MINUTE });
  });

  test("is admitted by its container alone where the operator may not ask", async () => {
    const body = { message: "Resource not found or you do not have access to this resource" };
    coderd.faults.inject({ on: DAEMONS, fault: { kind: "answer", status: 404, body } });
    await world.clock.advance(3 * MINUTE);
    const pod = await startGated();
    await stage.eventually(async () => expect(await gateOf(pod)).toMatchObject({ reason: "NotAsked" }), {
      withinMs: 3 * MINUTE,
    });
  });
});
