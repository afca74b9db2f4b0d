import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaticAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { InProcessCoderds } from "../../lab/coderd/in-process.ts";
import { failure, success } from "../../test/support/results.ts";
import type { CoderClient } from "./client.ts";
import { CoderClients } from "./clients.ts";

const OWNER = "ownerowner-ownerownerownerowner12";
const MEMBER = "membermemb-membermembermembermem1";
const JOBS = /provisionerjobs$/;
const DAEMONS = /provisionerdaemons$/;

let clock: VirtualClock;
let coderds: InProcessCoderds;
let clients: CoderClients;
let deployment: CoderdDeployment;
let coder: CoderClient;
let organization: string;

beforeEach(() => {
  clock = new VirtualClock(Date.parse("2026-08-03T08:00:00Z"));
  coderds = new InProcessCoderds(clock);
  clients = new CoderClients({ clock, fence: unfenced, route: coderds.route });
  const accounts = new StaticAccounts();
  accounts.add(OWNER, { owner: true });
  accounts.add(MEMBER, { owner: false });
  deployment = coderds.add({ accounts, now: () => clock.now() });
  organization = deployment.organizations[0]?.id ?? "";
  coder = clients.client({ url: "http://coder", token: OWNER });
});

afterEach(async () => {
  await clients.close();
  await coderds.close();
});

function join(name: string, tags: Record<string, string> = {}) {
  const key = deployment.createKey(organization, name, tags);
  return deployment.connectDaemon(name, key.plaintext) ?? expect.fail("turned away");
}

const answerWith = (on: RegExp, body: unknown) =>
  deployment.faults.inject({ on, fault: { kind: "answer", status: 200, body } });

const job = (extra: object = {}) => ({
  id: "j",
  created_at: "2026-08-03T08:00:00Z",
  status: "pending",
  type: "workspace_build",
  tags: {},
  queue_position: 1,
  ...extra,
});

describe("the jobs of an organization", () => {
  it("are those that are not over, with what they wait for and who has them", async () => {
    const daemon = join("pod-1", { env: "prod" });
    const running = deployment.jobs.submit({ organization, tags: { env: "prod" } });
    deployment.jobs.acquire(daemon);
    await clock.advance(1_000);
    const waiting = deployment.jobs.submit({ organization });
    deployment.jobs.finish(deployment.jobs.submit({ organization }));
    expect(success(await coder.unfinishedJobs(organization))).toEqual([
      {
        id: waiting.id,
        createdAt: clock.now(),
        startedAt: undefined,
        status: "pending",
        type: "workspace_build",
        tags: { scope: "organization", owner: "" },
        workerId: undefined,
        queuePosition: 1,
      },
      expect.objectContaining({ id: running.id, status: "running", workerId: daemon.id, queuePosition: 0 }),
    ]);
  });

  it("list builds of users before prebuilds, in the order of the queue", async () => {
    const prebuild = deployment.jobs.submit({ organization, isPrebuild: true });
    await clock.advance(1_000);
    const person = deployment.jobs.submit({ organization });
    const listed = success(await coder.unfinishedJobs(organization));
    const position = (id: string) => listed.find((each) => each.id === id)?.queuePosition;
    expect([position(person.id), position(prebuild.id)]).toEqual([1, 2]);
  });

  it("are hidden from those who may not look", async () => {
    const member = clients.client({ url: "http://coder", token: MEMBER });
    expect(failure(await member.unfinishedJobs(organization)).kind).toBe("notFound");
    expect(failure(await member.provisionerDaemons(organization)).kind).toBe("notFound");
  });

  it("are listed although each names thousands of daemons of the past week", async () => {
    const workers = Array.from({ length: 2_000 }, (_, index) => `0f0f0f0f-0000-4000-8000-${index}`);
    answerWith(
      JOBS,
      Array.from({ length: 100 }, () => job({ available_workers: workers })),
    );
    expect(success(await coder.unfinishedJobs(organization))).toHaveLength(100);
  });
});

describe("what a hostile coderd lists", () => {
  it.each([
    [
      "more values than parse in milliseconds",
      Array.from({ length: 60_000 }, () => 0),
      /more than 50000 values/,
    ],
    ["an identifier without end", [job({ id: "x".repeat(200) })], /id is longer than 128/],
    ["a time that is none", [job({ created_at: "soon" })], /created_at is not a time/],
    ["lists of 40 megabytes", [job({ available_workers: ["x".repeat(40_000_000)] })], /larger than 32 MiB/],
  ])("is refused if it contains %s", async (_, body, message) => {
    answerWith(JOBS, body);
    expect(failure(await coder.unfinishedJobs(organization))).toMatchObject({
      kind: "transient",
      message: expect.stringMatching(message),
    });
  });

  it("is refused if it contains an implausible number of daemons", async () => {
    const one = { id: "d", key_id: "k", name: "n", version: "v1", tags: null };
    answerWith(DAEMONS, Array(2_001).fill(one));
    expect(failure(await coder.provisionerDaemons(organization))).toMatchObject({
      kind: "transient",
      message: expect.stringMatching(/the response is a list of more than 2000/),
    });
  });

  it("is read no further than the 1,000 jobs that it was asked for", async () => {
    answerWith(
      JOBS,
      Array.from({ length: 6_000 }, (_, index) => job({ id: `${index}` })),
    );
    const listed = success(await coder.unfinishedJobs(organization));
    expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 1_000 }, (_, index) => `${index}`));
  });

  it("has its tags truncated after 256 characters, so that they match no pool", async () => {
    const [long, just] = ["x".repeat(1_000_000), "y".repeat(256)];
    answerWith(JOBS, [job({ tags: { a: long, [just]: just, ["z".repeat(300)]: "" } })]);
    const [{ tags = {} } = {}] = success(await coder.unfinishedJobs(organization));
    expect(tags).toEqual({ a: `${"x".repeat(256)}…`, [just]: just, [`${"z".repeat(256)}…`]: "" });
  });
});

describe("the daemons of an organization", () => {
  it("are busy with a job, idle, or gone 90 seconds after they fell silent", async () => {
    const [busy, silent] = [join("pod-1"), join("pod-2")];
    const taken = deployment.jobs.submit({ organization });
    deployment.jobs.acquire(busy);
    silent.silentSince = clock.now();
    const look = async () =>
      success(await coder.provisionerDaemons(organization)).map(({ name, status, currentJobId }) => [
        name,
        status,
        currentJobId,
      ]);
    expect(await look()).toEqual([
      ["pod-2", "idle", undefined],
      ["pod-1", "busy", taken.id],
    ]);
    await clock.advance(91_000);
    expect(await look()).toEqual([["pod-1", "busy", taken.id]]);
  });

  it("have the key, the version and the tags by which they are distinguished", async () => {
    const daemon = join("pod-1", { env: "prod" });
    expect(success(await coder.provisionerDaemons(organization))).toEqual([
      {
        id: daemon.id,
        keyId: daemon.key.id,
        name: "pod-1",
        version: "v2.36.1",
        lastSeenAt: clock.now(),
        tags: { env: "prod", scope: "organization", owner: "" },
        status: "idle",
        currentJobId: undefined,
      },
    ]);
  });

  it("are all listed, not only the first 50", async () => {
    for (let index = 0; index < 60; index++) join(`pod-${index}`);
    expect(success(await coder.provisionerDaemons(organization))).toHaveLength(60);
  });

  it("are listed although thousands of the past week are offline, which 2.24 lists too", async () => {
    deployment.version = "v2.24.4";
    const key = deployment.createKey(organization, "pool", { status: "offline" });
    const gone = clock.now() - 3_600_000;
    for (let index = 0; index < 10_000; index++) {
      const daemon = deployment.connectDaemon(`old-pod-of-a-pool-${index}`, key.plaintext);
      if (daemon) daemon.silentSince = gone;
    }
    deployment.connectDaemon("pod", key.plaintext);
    expect(success(await coder.provisionerDaemons(organization)).map(({ name }) => name)).toEqual(["pod"]);
  });

  it("count as offline when coderd does not say what they do", async () => {
    const silent = { id: "d", key_id: "k", name: "n", version: "v1", tags: null };
    answerWith(DAEMONS, [silent]);
    expect(success(await coder.provisionerDaemons(organization))).toMatchObject([{ status: "offline" }]);
  });
});
