import { Deployment, findCondition, Pod } from "kube-controller-runtime";
import { answers, when } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { SimulatedJob } from "../../../lab/coderd/jobs.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { ProvisionerSpec } from "../../../src/api/v1alpha1/provisioner.ts";
import { BUSY_MARKS } from "../../../src/operator/workload/pods/owned-pods.ts";
import { ReplicaSets } from "./replica-sets.ts";
import { openQueueStage, type QueueStage } from "./stage.ts";

const MINUTE = 60_000;
const LOOKS = /provisioner(jobs|daemons)$/;

let stage: QueueStage;
let coderd: CoderdDeployment;
let organization: string;
let pods: ReplicaSets;

beforeEach(async () => {
  stage = await openQueueStage("scaling");
  coderd = await stage.controlPlane();
  organization = coderd.organizations[0]?.id ?? "";
  pods = new ReplicaSets(stage, coderd);
});
afterEach(async () => {
  await pods[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const COST = "controller.kubernetes.io/pod-deletion-cost";
const EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const LIMITS = { minReplicas: 0, maxReplicas: 5 };

async function pool(
  name: string,
  autoscaling: ProvisionerSpec["autoscaling"] = LIMITS,
  spec = {},
): Promise<void> {
  await stage.create(name, { replicas: 0, autoscaling, ...spec });
  await stage.untilCondition(name, "ScalingActive", { status: "True", reason: "FollowingQueue" });
}

const replicas = async (name: string) => (await stage.get(Deployment, `provisioner-${name}`)).spec?.replicas;
const within = <T>(ms: number, assertion: () => Promise<T>) => stage.eventually(assertion, { withinMs: ms });
const submit = (count: number, tags = {}) =>
  Array.from({ length: count }, () => coderd.jobs.submit({ organization, tags }));
const isOver = ({ status }: SimulatedJob) => status === "succeeded";

describe("a pool that follows the queue", () => {
  test("reports how many builds wait for it, as long as it does", async () => {
    await pool("pool", { minReplicas: 0, maxReplicas: 1 });
    submit(3);
    await within(5 * MINUTE, async () => expect((await stage.status("pool")).pendingBuilds).toBe(2));
    await within(10 * MINUTE, async () => expect((await stage.status("pool")).pendingBuilds).toBe(0));
    await stage.person.mergePatch(CoderProvisioner, stage.ref("pool"), { spec: { autoscaling: null } });
    await within(5 * MINUTE, async () =>
      expect(await stage.status("pool")).not.toHaveProperty("pendingBuilds"),
    );
  });

  test("starts from zero within seconds, builds all at its maximum, and returns to zero", async () => {
    await pool("pool");
    const began = stage.clock.now();
    const builds = submit(10);
    await within(MINUTE, async () => expect(builds.some(({ startedAt }) => startedAt)).toBe(true));
    expect(stage.clock.now() - began).toBeLessThanOrEqual(30_000);
    await within(10 * MINUTE, async () => expect(builds.every(isOver)).toBe(true));
    expect(pods.most).toBe(5);
    await within(10 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
    expect(pods.disturbed).toEqual([]);
    expect(await stage.status("pool")).toMatchObject({ desiredReplicas: 0 });
  });

  test("is ready while it rests and while a daemon serves, and not while the first one starts", async () => {
    await pool("pool");
    const ready = async () => findCondition((await stage.status("pool")).conditions, "Ready");
    await within(MINUTE, async () => expect((await ready())?.status).toBe("True"));
    submit(1);
    await within(MINUTE, async () =>
      expect(await ready()).toMatchObject({ status: "False", reason: "RollingOut" }),
    );
    await within(MINUTE, async () => expect((await ready())?.status).toBe("True"));
    const lost = stage.untilCondition("pool", "Ready", { status: "False" }).then(
      () => "was not ready",
      () => "was ready",
    );
    await within(5 * MINUTE, async () => expect(coderd.jobs.of(organization).every(isOver)).toBe(true));
    expect(await lost).toBe("was ready");
  });

  test("removes no busy daemon, and marks busy ones", async () => {
    await pool("pool", { ...LIMITS, scaleDownDelaySeconds: 30 });
    pods.buildMs = 30 * MINUTE;
    const long = submit(2);
    await within(5 * MINUTE, async () => expect(long.every(({ startedAt }) => startedAt)).toBe(true));
    pods.buildMs = MINUTE;
    const short = submit(3);
    await within(10 * MINUTE, async () => expect(short.every(isOver)).toBe(true));
    await within(10 * MINUTE, async () => expect(await replicas("pool")).toBe(2));
    const builders = long.map(({ worker }) => worker?.name);
    await within(MINUTE, async () => {
      const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
      expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(builders.sort());
      for (const { metadata } of items) expect(metadata.annotations).toMatchObject(BUSY_MARKS);
    });
    expect(pods.disturbed).toEqual([]);
    await within(60 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
  });

  test("warns once, in an event and in its condition, when builds outlast the grace period of its pods", async () => {
    await pool("pool", LIMITS, { terminationGracePeriodSeconds: 60 });
    pods.buildMs = 30 * MINUTE;
    submit(2);
    await within(10 * MINUTE, async () => {
      const active = findCondition((await stage.status("pool")).conditions, "ScalingActive");
      expect(active).toMatchObject({ status: "True", reason: "FollowingQueue" });
      expect(active?.message).toContain("Builds take longer than spec.terminationGracePeriodSeconds (60)");
    });
    await within(60 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
    const warnings = (await stage.events("pool")).filter(({ reason }) => reason === "GracePeriodTooShort");
    expect(warnings.map(({ count }) => count ?? 1)).toEqual([1]);
  });

  test("is not shrunk while its pods are replaced, as by a rotation of its key", async () => {
    await pool("pool", { ...LIMITS, scaleDownDelaySeconds: 0 });
    pods.buildMs = 5 * MINUTE;
    submit(3);
    await within(5 * MINUTE, async () =>
      expect(coderd.jobs.of(organization).every(({ startedAt }) => startedAt)).toBe(true),
    );
    pods.isRollingOut = true;
    await stage.change("pool", { extraEnv: [{ name: "LEVEL", value: "2" }] });
    await within(20 * MINUTE, async () => expect(coderd.jobs.of(organization).every(isOver)).toBe(true));
    const until = stage.clock.now() + 5 * MINUTE;
    await within(6 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(until));
    expect(await replicas("pool")).toBe(3);
    pods.isRollingOut = false;
    await within(5 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
  });

  test("reports when it is limited by its maximum, and when that ends", async () => {
    await pool("pool", { ...LIMITS, maxReplicas: 1 });
    submit(3);
    await stage.untilCondition("pool", "ScalingLimited", { status: "True", reason: "AtMaximum" });
    await within(10 * MINUTE, async () => {
      const limited = findCondition((await stage.status("pool")).conditions, "ScalingLimited");
      expect(limited).toMatchObject({ status: "False", reason: "WithinLimits" });
    });
  });

  test("has no more daemons than a maximum that is lowered while coderd does not answer", async () => {
    await pool("pool", { ...LIMITS, minReplicas: 3 });
    await within(5 * MINUTE, async () => expect(coderd.daemons).toHaveLength(3));
    coderd.faults.inject({ fault: { kind: "answer", status: 503 } });
    await within(10 * MINUTE, () =>
      stage.untilCondition("pool", "ScalingActive", { status: "False", reason: "QueueUnknown" }),
    );
    await stage.change("pool", { autoscaling: { minReplicas: 1, maxReplicas: 2 } });
    await within(5 * MINUTE, async () => expect(await replicas("pool")).toBe(2));
    await within(MINUTE, async () => {
      const active = findCondition((await stage.status("pool")).conditions, "ScalingActive");
      expect(active).toMatchObject({ status: "False", reason: "QueueUnknown" });
    });
    const scaled = (await stage.events("pool")).filter(({ reason }) => reason === "Scaled").at(-1);
    expect(scaled?.message).toMatch(
      /^Scaled from 3 to 2\. Needs 2 daemons, the maximum: coderd's build queue/,
    );
  });

  test("does not move while coderd does not answer, and has the fallback after ten minutes", async () => {
    await pool("pool", { ...LIMITS, fallbackReplicas: 3 });
    const end = coderd.faults.inject({ on: LOOKS, fault: { kind: "cut" } });
    await within(5 * MINUTE, async () =>
      expect(findCondition((await stage.status("pool")).conditions, "ScalingActive")).toMatchObject({
        status: "False",
        reason: "QueueUnknown",
      }),
    );
    expect(await replicas("pool")).toBe(0);
    await within(20 * MINUTE, async () => expect(await replicas("pool")).toBe(3));
    end();
    await within(30 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
  });

  test("does not move without access to coderd, says so, and has the fallback after ten minutes", async () => {
    await pool("pool", { ...LIMITS, fallbackReplicas: 3 });
    await stage.publish("coder", { operatorAccessReady: false });
    await within(5 * MINUTE, async () => {
      const active = findCondition((await stage.status("pool")).conditions, "ScalingActive");
      expect(active).toMatchObject({ status: "False", reason: "QueueUnknown" });
    });
    await within(5 * MINUTE, async () => {
      const { status } = await stage.get(CoderControlPlane, "coder");
      const served = findCondition(status?.conditions, "BuildsServed");
      expect(served).toMatchObject({ status: "Unknown", reason: "QueueUnknown" });
      expect(served?.message).toContain('The operator has no access to CoderControlPlane "coder".');
    });
    expect(await replicas("pool")).toBe(0);
    await within(20 * MINUTE, async () => expect(await replicas("pool")).toBe(3));
    await stage.publish("coder", { operatorAccessReady: true });
    await within(30 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
  });

  test("gets its fixed number back when autoscaling is removed", async () => {
    await pool("pool");
    await stage.change("pool", { autoscaling: null, replicas: 2 });
    await within(3 * MINUTE, async () => expect(await replicas("pool")).toBe(2));
    await within(3 * MINUTE, async () => {
      const status = await stage.status("pool");
      expect(status.desiredReplicas).toBeUndefined();
      expect(findCondition(status.conditions, "ScalingActive")).toBeUndefined();
    });
  });

  test("writes nothing while its numbers are unchanged, and survives a restart of the operator", async () => {
    await pool("pool", { minReplicas: 2, maxReplicas: 5 });
    await within(5 * MINUTE, async () => expect(coderd.daemons).toHaveLength(2));
    await within(2 * MINUTE, () => stage.untilCondition("pool", "Ready", { status: "True" }));
    await stage.restart();
    await stage.untilIdle();
    const before = stage.operator.transport.requests.length;
    const looks = coderd.count(LOOKS);
    const until = stage.clock.now() + 5 * MINUTE;
    await within(6 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(until));
    expect(coderd.count(LOOKS) - looks).toBeGreaterThanOrEqual(38);
    expect(coderd.count(LOOKS) - looks).toBeLessThanOrEqual(42);
    const writes = stage.operator.transport.requests.slice(before).filter(({ method }) => method !== "GET");
    expect(writes.filter(({ path }) => /coderprov|pods|deployments/.test(path))).toEqual([]);
    expect(await replicas("pool")).toBe(2);
  });
});

describe("the marks of busy pods", () => {
  const annotations = async () => {
    const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
    return items.map(({ metadata }) => metadata.annotations ?? {});
  };
  const untilMarked = () =>
    within(5 * MINUTE, async () => {
      const [first, ...others] = await annotations();
      expect(first).toMatchObject({ [COST]: BUSY_MARKS[COST] });
      expect(others).toEqual([]);
    });

  test("are removed with autoscaling, also from a pod that is still busy", async () => {
    await pool("pool");
    pods.buildMs = 60 * MINUTE;
    const [build] = submit(1);
    await untilMarked();
    await stage.change("pool", { autoscaling: null, replicas: 1 });
    await within(3 * MINUTE, async () => expect(await annotations()).toEqual([{}]));
    expect(build?.status).toBe("running");
  });

  test("leave alone what others say of the pods of a pool with a fixed number", async () => {
    await stage.create("pool", { replicas: 1 });
    await within(MINUTE, async () => expect(coderd.daemons).toHaveLength(1));
    const [name = ""] = coderd.daemons.map((daemon) => daemon.name);
    const theirs = { [EVICT]: BUSY_MARKS[EVICT] };
    await stage.person.mergePatch(Pod, stage.ref(name), { metadata: { annotations: theirs } });
    const until = stage.clock.now() + 5 * MINUTE;
    await within(6 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(until));
    expect(await annotations()).toEqual([theirs]);
  });

  test("leave alone what the user gives all pods", async () => {
    const theirs = { [EVICT]: "true" };
    await pool("pool", LIMITS, { podAnnotations: theirs });
    pods.buildMs = 5 * MINUTE;
    const [build] = submit(1);
    await within(MINUTE, async () => expect(await annotations()).toHaveLength(1));
    const { items } = await stage.person.list(Pod, { namespace: stage.namespace });
    const name = items[0]?.metadata.name ?? "";
    await stage.person.mergePatch(Pod, stage.ref(name), { metadata: { annotations: theirs } });
    await untilMarked();
    expect(await annotations()).toEqual([{ ...BUSY_MARKS, ...theirs }]);
    await within(10 * MINUTE, async () => {
      expect(build?.status).toBe("succeeded");
      expect(await annotations()).toEqual([theirs]);
    });
  });

  test("that are refused keep a pool from shrinking, not from growing", async () => {
    await pool("pool", { ...LIMITS, scaleDownDelaySeconds: 30 });
    const warningsOf = () =>
      stage.operator.log.filter(({ msg }) => msg === "failed to mark pods of busy daemons").length;
    const patches = () =>
      stage.operator.transport.requests.filter(
        ({ method, path }) => method === "PATCH" && path.includes("/pods/"),
      ).length;
    const body = {
      kind: "Status",
      apiVersion: "v1",
      code: 403,
      reason: "Forbidden",
      message: "a webhook says no",
    };
    stage.operator.transport.fault = when(
      ({ method, path }) => method === "PATCH" && path.includes("/pods/"),
      answers(403, {}, JSON.stringify(body)),
    );
    pods.buildMs = 30 * MINUTE;
    submit(1);
    await within(5 * MINUTE, async () => expect(coderd.jobs.of(organization)[0]?.startedAt).toBeDefined());
    pods.buildMs = MINUTE;
    const short = submit(2);
    await within(5 * MINUTE, async () => expect(await replicas("pool")).toBe(3));
    await within(5 * MINUTE, async () => expect(short.every(isOver)).toBe(true));
    await within(5 * MINUTE, async () => {
      const active = findCondition((await stage.status("pool")).conditions, "ScalingActive");
      expect(active).toMatchObject({ status: "False", reason: "ScalingHeld" });
      expect(active?.message).toContain("could not be marked");
    });
    expect(await replicas("pool")).toBe(3);
    const [warnings, refused] = [warningsOf(), patches()];
    const until = stage.clock.now() + 10 * MINUTE;
    await within(11 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(until));
    expect([warnings, warningsOf()]).toEqual([1, 1]);
    expect(patches() - refused).toBeLessThanOrEqual(11);
    stage.operator.transport.fault = undefined;
    await within(5 * MINUTE, async () => expect(await replicas("pool")).toBe(1));
    expect(pods.disturbed).toEqual([]);
  });
});

describe("a pool that rests at zero", () => {
  const WORKSPACES = /\/api\/v2\/workspaces/;
  const tags = { env: "prod" };
  const scheduled = (minutes: number) =>
    coderd.workspaces.push({
      ...{ name: "w", organization, tags, transition: "stop" },
      nextStartAt: stage.clock.now() + minutes * MINUTE,
    });

  test("has a daemon ten minutes before coderd starts a workspace, and none once that is over", async () => {
    await pool("pool", LIMITS, { tags });
    scheduled(30);
    const dueAt = stage.clock.now() + 30 * MINUTE;
    await within(30 * MINUTE, async () => expect(coderd.daemons).toHaveLength(1));
    const earlyBy = (dueAt - stage.clock.now()) / MINUTE;
    expect(earlyBy).toBeGreaterThan(9);
    expect(earlyBy).toBeLessThanOrEqual(11);
    await within(15 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(dueAt));
    expect(coderd.daemons).toHaveLength(1);
    coderd.workspaces = [];
    await within(15 * MINUTE, async () => expect(await replicas("pool")).toBe(0));
  });

  test("says once in the log why coderd does not list workspaces", async () => {
    await pool("pool", LIMITS, { tags });
    const problems = () =>
      stage.operator.log.filter(({ msg }) => `${msg}`.startsWith("failed to list workspaces"));
    expect(problems()).toEqual([]);
    const heal = coderd.faults.inject({ on: WORKSPACES, fault: { kind: "answer", status: 500 } });
    await within(20 * MINUTE, async () => expect(coderd.count(WORKSPACES)).toBeGreaterThan(3));
    heal();
    expect(problems()).toMatchObject([{ level: "warn", problem: expect.stringContaining("HTTP 500") }]);
  });

  test("lists workspaces every five minutes, and not at all when it keeps none warm", async () => {
    await pool("pool", LIMITS, { tags });
    const listed = coderd.count(WORKSPACES);
    const until = stage.clock.now() + 20 * MINUTE;
    await within(21 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(until));
    expect(coderd.count(WORKSPACES) - listed).toBeLessThanOrEqual(4);
    expect(coderd.count(WORKSPACES) - listed).toBeGreaterThanOrEqual(3);
    await stage.change("pool", { autoscaling: { keepWarmMinutes: 0 } });
    await within(MINUTE, async () => expect(coderd.count(LOOKS)).toBeGreaterThan(0));
    const before = coderd.count(WORKSPACES);
    const later = stage.clock.now() + 20 * MINUTE;
    await within(21 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(later));
    expect(coderd.count(WORKSPACES) - before).toBeLessThanOrEqual(1);
  });
});

describe("a pool with a fixed number that begins to follow the queue", () => {
  test.each([
    ["and whose daemons are many more than its minimum", { minReplicas: 1, maxReplicas: 20 }],
    ["and whose daemons are more than its maximum", { minReplicas: 1, maxReplicas: 3 }],
  ])("%s keeps those that are busy", async (_, autoscaling) => {
    await stage.create("pool", { replicas: 6 });
    await within(5 * MINUTE, async () => expect(coderd.daemons).toHaveLength(6));
    pods.buildMs = 15 * MINUTE;
    const builds = submit(5);
    await within(5 * MINUTE, async () => expect(builds.every(({ startedAt }) => startedAt)).toBe(true));
    const spec = { replicas: null, autoscaling: { ...autoscaling, scaleDownDelaySeconds: 0 } };
    await stage.person.mergePatch(CoderProvisioner, stage.ref("pool"), { spec });
    const numbers: number[] = [];
    await within(20 * MINUTE, async () => {
      numbers.push((await replicas("pool")) ?? 0);
      expect(numbers.at(-1)).toBe(5);
    });
    expect(Math.min(...numbers)).toBe(5);
    expect(pods.disturbed).toEqual([]);
    await within(30 * MINUTE, async () => expect(builds.every(isOver)).toBe(true));
    expect(pods.disturbed).toEqual([]);
    await within(10 * MINUTE, async () => expect(await replicas("pool")).toBe(1));
  });
});

test("a pool grows within seconds after its maximum is raised, regardless of its interval", async () => {
  await stage.create("pool", { replicas: 0, autoscaling: { ...LIMITS, maxReplicas: 1, pollSeconds: 60 } });
  pods.buildMs = 60 * MINUTE;
  submit(3);
  await within(10 * MINUTE, async () => expect(await replicas("pool")).toBe(1));
  const until = stage.clock.now() + 10 * MINUTE;
  await within(11 * MINUTE, async () => expect(stage.clock.now()).toBeGreaterThan(until));
  await stage.change("pool", { autoscaling: { maxReplicas: 5 } });
  await within(10_000, async () => expect(await replicas("pool")).toBe(3));
});

test("of two pools that overlap, the one with the higher priority grows", async () => {
  const tags = { env: "prod" };
  await pool("a", { ...LIMITS }, { tags });
  await pool("b", { ...LIMITS, maxReplicas: 2, priority: 10 }, { tags });
  const builds = submit(3, tags);
  await within(2 * MINUTE, async () => {
    expect([await replicas("a"), await replicas("b")]).toEqual([1, 2]);
  });
  await within(10 * MINUTE, async () => expect(builds.every(isOver)).toBe(true));
});
