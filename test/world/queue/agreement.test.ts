import { findCondition } from "kube-controller-runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CoderdDeployment } from "../../../lab/coderd/deployment.ts";
import type { SimulatedJob } from "../../../lab/coderd/jobs.ts";
import { daemonView } from "../../../lab/coderd/routes-queue.ts";
import { CoderControlPlane, CoderProvisioner } from "../../../src/api/v1alpha1/kinds.ts";
import type { StatusReport } from "../../../src/plugin/commands/status/report.ts";
import { kubectlCoder, type Person } from "../../support/plugin.ts";
import { createOperator } from "../../support/plugin-fixture.ts";
import type { MemoryWorld } from "../../support/world/memory.ts";
import { DaemonLife } from "../provisioner/daemon-life.ts";
import { openQueueStage, type QueueStage } from "./stage.ts";

/*
 * What is said of a pool, wherever it is said, through a life with crashes, a lost pod and a bad image: sampled every few
 * seconds, and held against the pods and builds that are played.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SAMPLE_MS = 10 * SECOND;
const MAX_DISAGREEMENT_MS = 30 * SECOND;

let stage: QueueStage;
let coderd: CoderdDeployment;
let life: DaemonLife;
let organization: string;
/** Since when a sentence that must not be true has been, and what was seen. */
let since: Map<string, number>;
beforeEach(async () => {
  stage = await openQueueStage("agreement");
  coderd = await stage.controlPlane();
  organization = coderd.organizations[0]?.id ?? "";
  life = new DaemonLife(stage, coderd);
  since = new Map();
  await createOperator(stage.person, {
    namespace: "coder-system",
    now: stage.clock.now() + 24 * 60 * MINUTE,
  });
});
afterEach(async () => {
  await life[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const builds = () => coderd.jobs.of(organization);

/** Builds that coderd has running on a daemon whose process has ended since. */
function lostBuilds(): SimulatedJob[] {
  return builds().filter(({ status, worker, startedAt = 0 }) => {
    if (status !== "running") return false;
    const pod = life.pods.get(worker?.name ?? "");
    return pod?.state !== "running" || startedAt < pod.since;
  });
}

/** A person with a token of their own. */
function person(): Person {
  return {
    transport: (stage.world as MemoryWorld).api,
    clock: stage.clock,
    namespace: stage.namespace,
    env: { CODER_URL: "https://coder.example.com", CODER_SESSION_TOKEN: "marked-token" },
    fetch: async (url) => {
      const { pathname } = new URL(`${url}`);
      if (pathname.endsWith("/provisionerdaemons"))
        return Response.json(coderd.daemons.map((daemon) => daemonView(daemon, coderd)));
      if (pathname.endsWith("/provisionerjobs")) return Response.json([]);
      const job = builds().find(({ id }) => pathname.endsWith(id));
      if (!job) return new Response("{}", { status: 404 });
      const { status, tags, worker, startedAt } = job;
      const started_at = startedAt === undefined ? undefined : new Date(startedAt).toISOString();
      return Response.json({ id: job.id, job: { status, tags, worker_name: worker?.name, started_at } });
    },
  } as Person;
}

const say = async (...words: string[]) => {
  const { code, out } = await kubectlCoder(person(), ...words, "-o", "json");
  return { code, ...JSON.parse(out) };
};

/** All that contradicts the pods, the builds or another saying at this moment. */
async function contradictions(): Promise<string[]> {
  const { status = {} } = await stage.get(CoderProvisioner, "pool");
  const { status: served } = await stage.get(CoderControlPlane, "coder");
  const is = (type: string) => findCondition(status.conditions, type);
  const wanted = (await stage.get(CoderProvisioner, "pool")).spec?.replicas ?? 1;
  const lasting = life.lasting().length;
  const [ready, connected, deployed] = [is("Ready"), is("DaemonsConnected"), is("DeploymentReady")];
  const buildsServed = findCondition(served?.conditions, "BuildsServed");
  const isReady = ready?.status === "True";
  const pods = [...life.pods.values()];
  const lost = lostBuilds();
  const pending = builds().filter((job) => job.status === "pending");
  const [first] = lost;
  const [why, whyLost, report] = await Promise.all([
    say("why", "provisioner/pool"),
    first ? say("why", `build/${first.id}`) : undefined,
    say("status") as Promise<StatusReport & { code: number }>,
  ]);
  const [plane] = report.controlPlanes;
  const shown = plane?.pools[0];
  const readyNow = pods.filter((pod) => pod.isReady).length;
  const claims: [string, boolean][] = [
    ["Ready, and no pod lasts", isReady && wanted > 0 && lasting === 0],
    ["Ready, and a pod crashed a moment ago", isReady && lasting < pods.filter((pod) => pod.last).length],
    [
      "not Ready, and as many pods last as are wanted, of one template",
      !isReady &&
        wanted === lasting &&
        lasting === pods.length &&
        pods.every((pod) => pod.isReady && !pod.last),
    ],
    ["Ready, and DaemonsConnected is False", isReady && connected?.status === "False"],
    ["Ready, and DeploymentReady is False", isReady && deployed?.status === "False"],
    ["DaemonsConnected, and no pod lasts", connected?.status === "True" && wanted > 0 && lasting === 0],
    ["a column with other pods", status.pods !== `${readyNow}/${wanted}`],
    ["a lost build, and BuildsServed", lost.length > 0 && buildsServed?.status === "True"],
    ["DaemonsLost, and no build is lost", buildsServed?.reason === "DaemonsLost" && lost.length === 0],
    ["a lost build that why finds well", whyLost !== undefined && whyLost.code === 0],
    [
      "builds wait for pods that do not last, and BuildsServed",
      pending.length > 0 && lasting === 0 && wanted > 0 && buildsServed?.status === "True",
    ],
    [
      "BuildsServed is False, and no build waits or is lost",
      buildsServed?.status === "False" && pending.length + lost.length === 0,
    ],
    ["Ready, and why finds something", isReady && why.code !== 0],
    ["not Ready, and why finds nothing", ready?.status === "False" && why.code === 0],
    ["status shows another Ready", shown?.ready?.status !== ready?.status],
    [
      "status counts more daemons than last",
      (shown?.busy ?? 0) + (shown?.idle ?? 0) > pods.filter((pod) => pod.isReady && lastsOr(pod)).length,
    ],
  ];
  return claims.flatMap(([claim, isTrue]) => (isTrue ? [claim] : []));
}

const lastsOr = (pod: { readonly last?: object }) =>
  pod.last === undefined || life.lasting().includes(pod as never);

/** Lets time pass and samples; a contradiction that lasts fails with what it is and when. */
async function live(ms: number, chapter: string): Promise<void> {
  const until = stage.clock.now() + ms;
  while (stage.clock.now() < until) {
    const next = stage.clock.now() + SAMPLE_MS;
    await stage.eventually(() => expect(stage.clock.now()).toBeGreaterThanOrEqual(next), {
      withinMs: SAMPLE_MS,
    });
    const found = await contradictions();
    for (const claim of [...since.keys()]) if (!found.includes(claim)) since.delete(claim);
    for (const claim of found) {
      const began = since.get(claim) ?? stage.clock.now();
      since.set(claim, began);
      const lastsMs = stage.clock.now() - began;
      expect(lastsMs, `${chapter}: ${claim}`).toBeLessThanOrEqual(MAX_DISAGREEMENT_MS);
    }
  }
}

function submit(count: number): void {
  for (let left = count; left > 0; left--) coderd.jobs.submit({ organization });
}

test("conditions, columns, status and why agree with the pods and with each other through the life of a pool", async () => {
  await stage.create("pool", { replicas: 2, image: "good" });
  await live(2 * MINUTE, "it starts");
  submit(3);
  await live(3 * MINUTE, "it builds");
  life.buildMs = 10 * MINUTE;
  submit(2);
  await live(10 * SECOND, "it takes long builds");
  life.crash(life.of("good")[0] ?? "");
  await live(7 * MINUTE, "one daemon restarts once, with its build");
  submit(1);
  await live(10 * SECOND, "it takes another");
  await life.lose(builds().find(({ status }) => status === "running")?.worker?.name ?? "");
  await live(7 * MINUTE, "a pod is lost with its build");
  life.endsAfterS.bad = 15;
  await stage.change("pool", { image: "bad" });
  await live(5 * MINUTE, "a bad image rolls out");
  life.endsAfterS.good = 2;
  submit(3);
  await live(8 * MINUTE, "all its daemons crash");
  delete life.endsAfterS.bad;
  delete life.endsAfterS.good;
  await live(20 * MINUTE, "the image is corrected");
  await stage.change("pool", { replicas: 0 });
  await live(2 * MINUTE, "it rests");
  await stage.change("pool", { replicas: 2 });
  await live(2 * MINUTE, "it leaves zero");
});

test("DaemonsConnected and BuildsServed agree on a daemon that does not join", async () => {
  life.isJoining = false;
  await stage.create("pool", { replicas: 1, image: "good" });
  await live(30 * SECOND, "it starts");
  submit(1);
  const from = stage.clock.now();
  const reasons = async () => {
    const { status } = await stage.get(CoderControlPlane, "coder");
    return [
      findCondition((await stage.status("pool")).conditions, "DaemonsConnected")?.reason,
      findCondition(status?.conditions, "BuildsServed")?.reason,
    ];
  };
  await stage.eventually(async () => expect((await reasons())[0]).toBe("Stalled"), { withinMs: 2 * MINUTE });
  await stage.eventually(async () => expect((await reasons())[1]).toBe("DaemonsOffline"), {
    withinMs: Math.max(MAX_DISAGREEMENT_MS, from + MINUTE + 15 * SECOND - stage.clock.now()),
  });
});
