import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ReplicaHealth } from "../../../lab/coderd/health.ts";
import { CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type CoderdOptions, type CoderdStage, openCoderdStage } from "./stage.ts";

const TYPE = "Healthy";
const QUESTION = "GET /api/v2/debug/health";
const MINUTE_MS = 60_000;
const slow = { severity: "error", error: "EDB01: ping database: 10.0.0.1:5432: no" } as const;

let stage: CoderdStage;
beforeAll(async () => {
  stage = await openCoderdStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function serve(name: string, { replicas = 1, ...options }: CoderdOptions & { replicas?: number } = {}) {
  const coderd = await stage.coderd(name, options);
  for (let index = 1; index < replicas; index++) coderd.deployment.health.push(new ReplicaHealth());
  await stage.serve(name, coderd, { replicas });
  return coderd;
}

const healthy = (name: string) => stage.untilCondition(name, TYPE, { status: "True", reason: "ChecksPass" });

/** Waits until coderd was asked once more, and the run that did it is over. */
async function nextLook({ deployment }: Coderd, name: string): Promise<void> {
  const asked = deployment.count(QUESTION);
  await stage.timePasses(5 * MINUTE_MS);
  await stage.eventually(() => expect(deployment.count(QUESTION)).toBeGreaterThan(asked));
  await stage.touch(name, String(asked));
}

test("what coderd finds is reported in plain words with its code, and Ready stays as it is", async () => {
  const coderd = await serve("sick");
  await healthy("sick");
  Object.assign(coderd.deployment.health[0]?.sections ?? {}, { database: slow });
  await stage.timePasses(10 * MINUTE_MS);
  const failing = { status: "False", reason: "DatabaseFailing" } as const;
  const { message } = await stage.untilCondition("sick", TYPE, failing);
  expect(message).toContain("error EDB01: coderd cannot reach its database");
  expect(message).not.toContain("10.0.0.1");
  await stage.untilCondition("sick", "Ready", { status: "True" });
  expect((await stage.events("sick")).filter(({ reason }) => reason === "DatabaseFailing")).toHaveLength(1);
  delete coderd.deployment.health[0]?.sections.database;
  await stage.timePasses(10 * MINUTE_MS);
  await healthy("sick");
});

test("a slow first report delays nothing else, and is requested once", async () => {
  const coderd = await stage.coderd("slow-report");
  coderd.deployment.faults.inject({ on: QUESTION, fault: { kind: "latency", ms: 8_000 } });
  await stage.serve("slow-report", coderd);
  const { status } = await stage.untilCondition("slow-report", "EntitlementsKnown", { status: "True" });
  expect(status).toBe("True");
  expect((await stage.status("slow-report")).conditions?.some(({ type }) => type === TYPE)).toBe(false);
  await stage.timePasses(8_000);
  await healthy("slow-report");
  expect(coderd.deployment.count(QUESTION)).toBe(1);
});

test("coderd is asked every five minutes, regardless of changes of the object", async () => {
  const { deployment } = await serve("rarely");
  await healthy("rarely");
  const asked = deployment.count(QUESTION);
  for (let run = 0; run < 10; run++) await stage.touch("rarely", String(run));
  expect(deployment.count(QUESTION)).toBe(asked);
  await stage.timePasses(60 * MINUTE_MS);
  expect(deployment.count(QUESTION)).toBeLessThanOrEqual(asked + 12);
});

test("the condition is steady although replicas see things differently, and turns when all agree", async () => {
  const coderd = await serve("split", { replicas: 2 });
  const [first] = coderd.deployment.health;
  Object.assign(first?.sections ?? {}, { database: slow });
  await stage.timePasses(10 * MINUTE_MS);
  const failing = { status: "False", reason: "DatabaseFailing" } as const;
  const { lastTransitionTime } = await stage.untilCondition("split", TYPE, failing);
  for (let look = 0; look < 12; look++) await nextLook(coderd, "split");
  await stage.untilCondition("split", TYPE, { ...failing, lastTransitionTime });
  delete first?.sections.database;
  for (let look = 0; look < 8; look++) await nextLook(coderd, "split");
  await healthy("split");
});

test("a new leader knows what the replicas found before, whichever answers first", async () => {
  const coderd = await serve("led", { replicas: 2 });
  const [first] = coderd.deployment.health;
  Object.assign(first?.sections ?? {}, { database: slow });
  await stage.timePasses(10 * MINUTE_MS);
  const failing = { status: "False", reason: "DatabaseFailing" } as const;
  const { lastTransitionTime } = await stage.untilCondition("led", TYPE, failing);
  for (let leader = 0; leader < 4; leader++) {
    await stage.restart();
    await nextLook(coderd, "led");
    await stage.untilCondition("led", TYPE, { ...failing, lastTransitionTime });
  }
});

describe("a coderd that can't say", () => {
  test.each([
    ["hangs", { kind: "stall" }, "CoderdUnreachable"],
    ["does not finish in time", { kind: "answer", status: 503 }, "NoReport"],
    ["answers with something else", { kind: "wrongShape" }, "NoReport"],
    ["does not know the operator as owner", { kind: "answer", status: 403 }, "Forbidden"],
  ] as const)(
    "that %s is neither healthy nor unhealthy, and is asked with backoff",
    async (_, fault, reason) => {
      const name = `mute-${reason.toLowerCase()}-${fault.kind.toLowerCase()}`;
      const coderd = await stage.coderd(name);
      coderd.deployment.faults.inject({ fault, on: QUESTION });
      await stage.serve(name, coderd);
      await stage.untilCondition(name, TYPE, { status: "Unknown", reason });
      await stage.untilCondition(name, "EntitlementsKnown", { status: "True" });
      const asked = coderd.deployment.count(QUESTION);
      if (reason !== "Forbidden") {
        await stage.timePasses(60 * MINUTE_MS);
        expect(coderd.deployment.count(QUESTION)).toBeLessThanOrEqual(asked + 16);
      }
      coderd.deployment.faults.clear();
      await stage.timePasses(5 * MINUTE_MS);
      await healthy(name);
    },
  );

  test("for less than a quarter of an hour is as healthy as it last was", async () => {
    const { deployment } = await serve("brief");
    await healthy("brief");
    deployment.faults.inject({ fault: { kind: "stall" }, on: QUESTION });
    await stage.timePasses(14 * MINUTE_MS);
    await healthy("brief");
    await stage.timePasses(6 * MINUTE_MS);
    await stage.untilCondition("brief", TYPE, { status: "Unknown", reason: "CoderdUnreachable" });
  });

  test("with an answer that is huge is refused without being read to its end", async () => {
    const coderd = await stage.coderd("huge");
    const body = { time: "2026-01-01T00:00:00Z", derp: { severity: "ok", warnings: Array(60_000).fill({}) } };
    coderd.deployment.faults.inject({ fault: { kind: "answer", status: 200, body }, on: QUESTION });
    await stage.serve("huge", coderd);
    const { message } = await stage.untilCondition("huge", TYPE, { status: "Unknown" });
    expect(message).toContain("more than 50000 values");
  });
});

describe("no connected daemon", () => {
  const pool = (name: string, plane: string, spec: object) =>
    stage.person.create(CoderProvisioner, {
      apiVersion: "coder.com/v1alpha1",
      kind: "CoderProvisioner",
      metadata: { name, namespace: stage.namespace },
      spec: { controlPlaneRef: { name: plane }, ...spec },
    });

  test("is a fault without a pool that may rest at zero", async () => {
    await serve("idle", { builtInDaemons: 0 });
    await stage.untilCondition("idle", TYPE, { status: "False", reason: "ProvisionerDaemonsFailing" });
  });

  test("is expected while every pool may rest at zero, and a fault as soon as one may not", async () => {
    await pool("resting", "rest", { autoscaling: { minReplicas: 0, maxReplicas: 3 } });
    await pool("off", "rest", { replicas: 0 });
    await serve("rest", { builtInDaemons: 0 });
    expect((await healthy("rest")).message).toContain("can scale to zero");
    await pool("busy", "rest", { replicas: 1 });
    await stage.touch("rest", "another pool");
    await stage.untilCondition("rest", TYPE, { status: "False", reason: "ProvisionerDaemonsFailing" });
  });
});

test("without a ready pod, or with access turned off, it is Unknown", async () => {
  const coderd = await stage.coderd("dark");
  await stage.create("dark", { operatorAccess: {} });
  await stage.untilCondition("dark", TYPE, { status: "Unknown", reason: "Pending" });
  await stage.change("dark", { operatorAccess: { disabled: true } });
  await stage.untilCondition("dark", TYPE, { status: "Unknown", reason: "Disabled" });
  expect(coderd.deployment.count(QUESTION)).toBe(0);
});
