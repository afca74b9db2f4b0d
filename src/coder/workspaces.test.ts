import { readFileSync } from "node:fs";
import { unfenced, VirtualClock } from "kube-controller-runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StaticAccounts } from "../../lab/coderd/accounts.ts";
import type { CoderdDeployment } from "../../lab/coderd/deployment.ts";
import { InProcessCoderds } from "../../lab/coderd/in-process.ts";
import { respond } from "../../lab/coderd/respond.ts";
import { CoderClients } from "./clients.ts";
import { workspacePage } from "./workspaces.ts";

const [OWNER, MEMBER] = ["ownerowner-ownerownerownerowner12", "membermemb-membermembermembermem1"];
const START = Date.parse("2026-08-03T08:00:00Z");

/** Response of the real coderd. */
const recorded = JSON.parse(
  readFileSync(new URL("../../test/fixtures/coderd/workspaces.json", import.meta.url), "utf8"),
);

let coderds: InProcessCoderds;
let clients: CoderClients;
let deployment: CoderdDeployment;
let organization: string;
beforeEach(() => {
  const clock = new VirtualClock(START);
  coderds = new InProcessCoderds(clock);
  clients = new CoderClients({ clock, fence: unfenced, route: coderds.route });
  const accounts = new StaticAccounts();
  accounts.add(OWNER, { owner: true });
  accounts.add(MEMBER, { owner: false });
  deployment = coderds.add({ accounts, now: () => clock.now(), organizations: ["other"] });
  organization = deployment.organizations[0]?.id ?? "";
});
afterEach(async () => {
  await clients.close();
  await coderds.close();
});

const client = (token = OWNER) => clients.client({ url: "http://coder", token });
const tags = { pool: "a" };
const stopped = { name: "scheduled", tags, transition: "stop" } as const;

async function pageFrom(offset: number, token = OWNER) {
  const answer = await client(token).workspaces(organization, offset);
  return answer.ok ? answer.value : expect.fail(answer.failure.message);
}

describe("a workspace as the real coderd lists it", () => {
  it("is due at the next start by coderd, with the tags of its last build", () => {
    const [workspace] = recorded.workspaces;
    expect(workspacePage(recorded, "")).toEqual({
      workspaces: [
        {
          tags: { pool: "a", owner: "", scope: "organization" },
          dueAt: Date.parse(workspace.next_start_at),
        },
      ],
      count: 1,
    });
  });

  it.each<[string, object, object, string | undefined]>([
    [
      "when it runs, is due at its deadline",
      {},
      { transition: "start", deadline: "2026-01-01T00:00:00Z" },
      "2026-01-01T00:00:00Z",
    ],
    ["when it runs without a deadline, is not due", {}, { transition: "start" }, undefined],
    ["when it is dormant, is not due", { dormant_at: "2026-01-01T00:00:00Z" }, {}, undefined],
    [
      "when its last build failed, is not due",
      {},
      { job: { ...recorded.workspaces[0].latest_build.job, status: "failed" } },
      undefined,
    ],
    ["when it has no schedule, is not due", { next_start_at: null }, {}, undefined],
    ["when it is being deleted, is not due", {}, { transition: "delete" }, undefined],
  ])("%s", (_, changes, build, expected) => {
    const [original] = recorded.workspaces;
    const changed = { ...original, ...changes, latest_build: { ...original.latest_build, ...build } };
    const { workspaces } = workspacePage({ workspaces: [changed], count: 1 }, "");
    expect(workspaces[0]?.dueAt).toEqual(expected && Date.parse(expected));
  });
});

describe("the simulator", () => {
  it("lists a workspace as the real coderd does", async () => {
    deployment.workspaces.push({ ...stopped, organization, nextStartAt: START });
    const headers = { "coder-session-token": OWNER };
    const request = { method: "GET", path: "/api/v2/workspaces", headers, body: "", sleep: async () => {} };
    const outcome = await respond(deployment, request);
    if (outcome.kind !== "reply") return expect.fail("no answer");
    const shape = (body: unknown) => shapeOf(JSON.parse(JSON.stringify(body), withoutResources));
    expect(shape(outcome.reply.body)).toEqual(shape(recorded));
  });

  it("is paged, without other organizations, and empty for users without permission", async () => {
    deployment.workspaces = Array.from({ length: 120 }, () => ({
      ...stopped,
      organization,
      nextStartAt: START,
    }));
    deployment.workspaces.push({ ...stopped, organization: deployment.organizations[1]?.id ?? "" });
    expect((await pageFrom(0)).workspaces).toHaveLength(100);
    expect(await pageFrom(100)).toMatchObject({ workspaces: { length: 20 }, count: 120 });
    expect(await pageFrom(0, MEMBER)).toEqual({ workspaces: [], count: 0 });
  });
});

/** The recording contains no agents. */
function withoutResources(key: string, value: unknown): unknown {
  return key === "resources" ? [] : value;
}

/** Field names and the type of each value. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const entries = Object.entries(value).map(([key, field]) => [key, shapeOf(field)]);
  return Object.fromEntries(entries);
}
