import { findCondition } from "kube-controller-runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { queueController } from "../../../src/operator/autoscaling/controller.ts";
import { openQueueStage, type QueueStage } from "./stage.ts";

const MINUTE = 60_000;
const LOOKS = /provisioner(jobs|daemons)$/;

let stage: QueueStage;
let coderd: CoderdDeployment;
let organization: string;

beforeEach(async () => {
  stage = await openQueueStage("queue");
  coderd = await stage.controlPlane();
  organization = coderd.organizations[0]?.id ?? "";
});
afterEach(() => stage[Symbol.asyncDispose]());

const condition = async () =>
  findCondition((await stage.get(CoderControlPlane, "coder")).status?.conditions, "BuildsServed");

function untilServed(expected: object) {
  return stage.eventually(
    async () => {
      const present = await condition();
      expect(present).toMatchObject(expected);
      return present;
    },
    { withinMs: 10 * MINUTE },
  );
}

/** Lets time pass, and everything that is due in it happen. */
async function pass(ms: number): Promise<void> {
  const until = stage.clock.now() + ms;
  await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(until), { withinMs: ms });
}

describe("the cost of looking", () => {
  test.each([
    ["that have a fixed number", {}, 1],
    ["that follow the queue", { autoscaling: { minReplicas: 1, maxReplicas: 5, pollSeconds: 15 } }, 4],
  ])(
    "100 pools %s cost two requests a look in all, and no write while nothing changes",
    async (_, spec, looksAMinute) => {
      await stage.operator.stop();
      for (let index = 0; index < 100; index++) {
        await stage.create(`pool-${index}`, { ...spec, tags: { pool: `${index}` } });
        const status = { organizationID: organization };
        await stage.person.patchStatus(CoderProvisioner, stage.ref(`pool-${index}`), { status });
      }
      await stage.startOperator({ controllers: (ports) => [queueController(ports)] });
      await untilServed({ status: "True", reason: "Served" });
      await pass(MINUTE);
      const [asked, requests] = [coderd.calls.length, stage.operator.transport.requests.length];
      await pass(10 * MINUTE);
      expect(coderd.calls.length - asked).toBe(10 * looksAMinute * 2);
      const written = stage.operator.transport.requests
        .slice(requests)
        .filter(({ method }) => method !== "GET");
      expect(written.filter(({ path }) => !path.includes("leases"))).toEqual([]);
    },
  );

  test("a control plane without provisioners is not asked at all", async () => {
    await pass(5 * MINUTE);
    expect(coderd.count(LOOKS)).toBe(0);
    expect(await condition()).toBeUndefined();
  });

  test("a coderd that limits requests is left alone for as long as it asks", async () => {
    await stage.serve("pool");
    await untilServed({ status: "True" });
    const end = coderd.faults.inject({ on: LOOKS, fault: { kind: "rateLimited", retryAfter: "600" } });
    await pass(MINUTE);
    const looks = coderd.count(LOOKS);
    await pass(9 * MINUTE);
    expect(coderd.count(LOOKS)).toBe(looks);
    end();
    await pass(2 * MINUTE);
    expect(coderd.count(LOOKS)).toBeGreaterThan(looks);
  });

  test("a slow coderd is asked less often", async () => {
    await stage.serve("pool");
    await untilServed({ status: "True" });
    coderd.faults.inject({ on: LOOKS, fault: { kind: "latency", ms: 6_000 } });
    await pass(2 * MINUTE);
    const looks = coderd.count(LOOKS);
    await pass(10 * MINUTE);
    expect(coderd.count(LOOKS) - looks).toBeLessThanOrEqual(10);
  });
});

describe("the control plane says why builds wait", () => {
  test("for tags that no provisioner has, at the next look, with an event", async () => {
    await stage.serve("pool", { tags: { env: "test" } });
    await untilServed({ status: "True" });
    coderd.jobs.submit({ organization, tags: { env: "prod" } });
    await untilServed({ status: "False", reason: "NoMatchingProvisioner" });
    expect((await stage.events("coder")).map(({ reason, type }) => [reason, type])).toContainEqual([
      "NoMatchingProvisioner",
      "Warning",
    ]);
  });

  test("for a pool whose daemons are all busy, until one is free", async () => {
    await stage.serve("pool");
    const [daemon] = coderd.daemons;
    if (!daemon) throw new Error("the pool has no daemon");
    const first = coderd.jobs.submit({ organization });
    coderd.jobs.acquire(daemon);
    coderd.jobs.submit({ organization });
    await untilServed({ status: "False", reason: "AtMaximum" });
    coderd.jobs.finish(first);
    coderd.jobs.acquire(daemon);
    await untilServed({ status: "True", reason: "Served" });
  });

  test("and that coderd does not list the oldest when more than it lists are unfinished", async () => {
    await stage.serve("pool", { tags: { env: "test" } });
    await untilServed({ status: "True" });
    coderd.jobs.submit({ organization, tags: { env: "prod" } });
    for (let count = 0; count < 1_000; count++) coderd.jobs.submit({ organization, tags: { env: "test" } });
    const { message } = (await untilServed({ status: "False" })) ?? {};
    expect(message).toMatch(
      /coderd lists only the newest 1000 unfinished builds of an organization; older builds may be waiting\.$/,
    );
  });

  test("with nothing but the truth when coderd does not answer", async () => {
    await stage.serve("pool");
    await untilServed({ status: "True" });
    const end = coderd.faults.inject({ on: LOOKS, fault: { kind: "cut" } });
    await untilServed({ status: "Unknown", reason: "QueueUnknown" });
    end();
    await untilServed({ status: "True" });
  });

  test("until the last provisioner is gone", async () => {
    await stage.serve("pool");
    await untilServed({ status: "True" });
    await stage.delete(CoderProvisioner, "pool");
    await stage.eventually(async () => expect(await condition()).toBeUndefined(), { withinMs: 5 * MINUTE });
  });
});
