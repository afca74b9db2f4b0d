import { afterAll, beforeAll, expect, test } from "vitest";
import { CoderGroup } from "../../../src/api/v1alpha1/kinds.ts";
import { KeptFields } from "../../../src/coder/http/kept-fields.ts";
import { groupShape } from "../../../src/coder/inside/groups.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

const GROUPS = 500;
const MINUTE_MS = 60_000;

let stage: InsideStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openInsideStage(new MemoryWorld(), "scale");
  coderd = await stage.controlPlane("coder");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const reads = () => coderd.deployment.count(/^GET .*(groups|members|entitlements|organizations)/);
const groupReads = () => coderd.deployment.count(/^GET .*\/organizations\/[^/]+\/groups$/);
const memberReads = () => coderd.deployment.count(/^GET .*\/members$/);
const groupWrites = () => coderd.deployment.count(/^(POST|PATCH|DELETE) .*groups/);

async function untilAllReady(): Promise<void> {
  await stage.eventually(
    async () => {
      const { items } = await stage.person.list(CoderGroup, { namespace: stage.namespace });
      const ready = items.filter(({ metadata, status }) =>
        status?.conditions?.some(
          ({ type, status: value, observedGeneration }) =>
            type === "Ready" && value === "True" && observedGeneration === metadata.generation,
        ),
      );
      expect(ready).toHaveLength(GROUPS);
    },
    { withinMs: 10 * MINUTE_MS },
  );
}

test("500 groups at once cost one write each, and at most ten reads of an organization in ten minutes", async () => {
  for (let index = 0; index < GROUPS; index++) await stage.group(`group-${index}`, "coder");
  await untilAllReady();
  expect(groupWrites()).toBe(GROUPS);
  expect(groupReads()).toBeLessThanOrEqual(10);

  const before = { reads: groupReads(), writes: groupWrites() };
  for (let minute = 0; minute < 10; minute++) await stage.timePasses(MINUTE_MS);
  await stage.untilIdle();
  expect(groupReads() - before.reads).toBeLessThanOrEqual(10);
  expect(groupWrites()).toBe(before.writes);

  await stage.change("group-7", { quotaAllowance: 5 });
  await stage.eventually(() => expect(coderd.deployment.inside.group("group-7")).toMatchObject({ quota: 5 }));
  expect(groupWrites()).toBe(before.writes + 1);
});

test("a restart writes nothing and asks coderd once for each collection", async () => {
  await stage.untilIdle();
  const before = { reads: reads(), group: groupReads(), writes: groupWrites(), runs: stage.counters.runs };
  await stage.restart();
  await stage.eventually(() => expect(stage.counters.runs).toBeGreaterThanOrEqual(before.runs + GROUPS));
  await stage.untilIdle();
  expect(groupWrites()).toBe(before.writes);
  expect(groupReads() - before.group).toBe(1);
  const writes = stage.operator.transport.requests.filter(
    ({ method, path }) => method !== "GET" && path.includes("codergroups"),
  );
  expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test("a group of 2,000 members costs a request for each 500, and one read of each list", async () => {
  const organization = coderd.deployment.organizations[0]?.id ?? "";
  const usernames = Array.from({ length: 2_000 }, (_, index) => `person-${index}`);
  // All groups of an organization are in one list, each with all that coderd knows of its members.
  const members = coderd.deployment.inside.join(organization, ...usernames).map(({ id }) => id);
  for (let index = 0; index < 10; index++)
    coderd.deployment.inside.addGroup(organization, `full-${index}`, { members });
  await stage.timePasses(2 * MINUTE_MS);
  await stage.untilIdle();
  const before = { reads: groupReads(), members: memberReads(), writes: groupWrites() };
  await stage.change("group-8", { members: usernames });
  await stage.untilReady("group-8");
  expect(coderd.deployment.inside.namesIn(coderd.deployment.inside.group("group-8"))).toHaveLength(2_000);
  expect(groupWrites() - before.writes).toBe(4);
  expect(groupReads() - before.reads).toBe(1);
  expect(memberReads() - before.members).toBe(1);
});

test("of the list of all members of all groups, the operator parses the IDs alone", () => {
  const members = Array.from({ length: 2_000 }, (_, index) => ({
    id: crypto.randomUUID(),
    username: `person-${index}`,
    email: `person-${index}@example.com`,
    avatar_url: "https://example.com/avatar.png",
    created_at: "2026-01-01T00:00:00Z",
    status: "active",
    login_type: "oidc",
  }));
  const groups = [{ id: crypto.randomUUID(), name: "all", members }];
  const body = Buffer.from(JSON.stringify(groups));
  const fields = new KeptFields(groupShape.keptFields ?? []);
  const kept: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += 65_536)
    kept.push(...fields.filter(body.subarray(at, at + 65_536)));
  const ids = members.map(({ id }) => ({ id }));
  expect(JSON.parse(Buffer.concat(kept).toString())).toEqual([{ ...groups[0], members: ids }]);
});
