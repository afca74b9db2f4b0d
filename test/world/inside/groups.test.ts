import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderGroup } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: InsideStage;
let coderd: Coderd;
beforeAll(async () => {
  stage = await openInsideStage(new MemoryWorld(), "groups");
  coderd = await stage.controlPlane("coder");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const inside = () => coderd.deployment.inside;
const organization = () => coderd.deployment.organizations[0]?.id ?? "";

describe("a group", () => {
  test("is created as its spec says, with its id where a backup contains it", async () => {
    await stage.byHand(() => inside().join(organization(), "ada", "Bob"));
    await stage.group("made", "coder", {
      displayName: "Made",
      quotaAllowance: 40,
      members: ["ada", "bob"],
    });
    const id = await stage.untilReady("made");
    const group = inside().group("made");
    expect(group).toMatchObject({ id, displayName: "Made", quota: 40, avatarURL: "" });
    expect(inside().namesIn(group)).toEqual(["Bob", "ada"]);
    const { metadata, status } = await stage.get(CoderGroup, "made");
    expect(metadata.annotations).toMatchObject({ "coder.com/entity-id": id });
    expect(status).toMatchObject({ organizationID: organization() });
    expect(status).not.toHaveProperty("creating");
    expect(await stage.untilEvent("made", "EntityCreated")).toContain(id);
  });

  test("that users change is corrected, and one event names the fields", async () => {
    const [ada] = await stage.byHand(() => inside().join(organization(), "ada"));
    await stage.group("drifting", "coder", { quotaAllowance: 10, members: [], avatarURL: "/a.png" });
    await stage.untilReady("drifting");
    const group = inside().group("drifting");
    Object.assign(group ?? {}, { quota: 99, displayName: "Manual", members: [ada?.id] });
    await stage.untilCompared();
    await stage.eventually(() => expect(group).toMatchObject({ quota: 10, members: [] }));
    // The spec says nothing about it.
    expect(group).toMatchObject({ displayName: "Manual" });
    const message = await stage.untilEvent("drifting", "DriftCorrected");
    expect(message).toContain("quotaAllowance, members of");
  });

  test("is renamed with its spec, and stays the same group", async () => {
    await stage.group("renamed", "coder");
    const id = await stage.untilReady("renamed");
    await stage.change("renamed", { name: "other-name" });
    await stage.eventually(() => expect(inside().group("other-name")).toMatchObject({ id }));
    expect(inside().group("renamed")).toBeUndefined();
  });

  test("that was renamed in coderd gets its name back", async () => {
    await stage.group("known", "coder");
    await stage.untilReady("known");
    Object.assign(inside().group("known") ?? {}, { name: "unknown" });
    await stage.untilCompared();
    await stage.eventually(() => expect(inside().group("known")).toBeDefined());
  });

  test("that was deleted in coderd is created again", async () => {
    await stage.group("deleted", "coder");
    const first = await stage.untilReady("deleted");
    inside().groups = inside().groups.filter(({ id }) => id !== first);
    await stage.untilCompared();
    await stage.eventually(() => expect(inside().group("deleted")).toBeDefined());
    await stage.eventually(async () =>
      expect((await stage.status("deleted")).id).toBe(inside().group("deleted")?.id),
    );
  });
});

describe("a group that exists", () => {
  test("is left alone, and the object says so with its id", async () => {
    const { id } = await stage.byHand(() => inside().addGroup(organization(), "theirs", { quota: 7 }));
    await stage.group("theirs", "coder", { quotaAllowance: 1 });
    const conflict = await stage.untilCondition("theirs", "Conflict", { reason: "ExistsAlready" });
    expect(conflict.message).toContain(id);
    await stage.untilCondition("theirs", "Stalled", { status: "True" });
    expect(inside().group("theirs")).toMatchObject({ quota: 7 });
  });

  test("since a moment ago is left alone as well", async () => {
    inside().addGroup(organization(), "recent");
    await stage.timePasses(2_000);
    await stage.group("recent", "coder");
    await stage.untilCondition("recent", "Conflict", { reason: "ExistsAlready" });
    expect(await stage.status("recent")).not.toHaveProperty("creating");
  });

  test("is taken over where the spec says so", async () => {
    const values = { quota: 7, displayName: "Kept" };
    const { id } = await stage.byHand(() => inside().addGroup(organization(), "adopted", values));
    await stage.group("adopted", "coder", { quotaAllowance: 1, adopt: true });
    expect(await stage.untilReady("adopted")).toBe(id);
    expect(inside().group("adopted")).toMatchObject({ id, quota: 1, displayName: "Kept" });
    expect(await stage.eventReasons("adopted")).toContain("Adopted");
  });

  test("is the same under a name in other case", async () => {
    const { id } = await stage.byHand(() => inside().addGroup(organization(), "Cased"));
    await stage.group("cased", "coder");
    await stage.untilCondition("cased", "Conflict", { reason: "ExistsAlready" });
    await stage.change("cased", { adopt: true });
    expect(await stage.untilReady("cased")).toBe(id);
    expect(inside().group("cased")).toMatchObject({ id });
  });

  test("is found again by an object from a backup, which has no status", async () => {
    const { id } = await stage.byHand(() => inside().addGroup(organization(), "restored", { quota: 3 }));
    const { apiVersion, kind } = CoderGroup;
    await stage.person.create(CoderGroup, {
      apiVersion,
      kind,
      metadata: { ...stage.ref("restored"), annotations: { "coder.com/entity-id": id } },
      spec: { controlPlaneRef: { name: "coder" }, quotaAllowance: 5 },
    });
    expect(await stage.untilReady("restored")).toBe(id);
    expect(inside().group("restored")).toMatchObject({ id, quota: 5 });
  });

  test("has one object: of two the older one wins, and the other follows when that is gone", async () => {
    await stage.group("older", "coder", { name: "one" });
    const id = await stage.untilReady("older");
    await stage.timePasses(2_000);
    await stage.group("younger", "coder", { name: "one", adopt: true, quotaAllowance: 9 });
    const conflict = await stage.untilCondition("younger", "Conflict", { reason: "ClaimedByOlder" });
    expect(conflict.message).toContain('"older"');
    expect(inside().group("one")).toMatchObject({ quota: 0 });
    await stage.delete(CoderGroup, "older");
    expect(await stage.untilReady("younger")).toBe(id);
  });

  test("is only watched where the spec says so, and a difference is reported", async () => {
    await stage.byHand(() => inside().addGroup(organization(), "watched", { quota: 7 }));
    await stage.group("watched", "coder", { quotaAllowance: 1, managementPolicy: "Observe" });
    const synced = await stage.untilCondition("watched", "Synced", { status: "False", reason: "Drifted" });
    expect(synced.message).toContain("quotaAllowance");
    await stage.change("watched", { quotaAllowance: 7 });
    await stage.untilCondition("watched", "Ready", { status: "True" });
    expect(inside().group("watched")).toMatchObject({ quota: 7 });
    expect((await stage.status("watched")).id).toBeUndefined();
  });
});

describe("members", () => {
  test("who are not in the organization are named, and do not stop the others", async () => {
    await stage.byHand(() => inside().join(organization(), "carol"));
    await stage.group("partly", "coder", { members: ["carol", "oscar"] });
    const synced = await stage.untilCondition("partly", "Synced", { reason: "MembersMissing" });
    expect(synced.message).toContain('"oscar"');
    expect(inside().namesIn(inside().group("partly"))).toEqual(["carol"]);
    await stage.byHand(() => inside().join(organization(), "oscar"));
    await stage.untilReady("partly");
    expect(inside().namesIn(inside().group("partly"))).toEqual(["carol", "oscar"]);
  });

  test("whom someone has just added are found when coderd refuses to add them twice", async () => {
    const [dora] = await stage.byHand(() => inside().join(organization(), "dora"));
    await stage.group("joined", "coder", { members: [] });
    await stage.untilReady("joined");
    await stage.timePasses(2_000);
    const before = coderd.deployment.count(/^PATCH .*groups/);
    Object.assign(inside().group("joined") ?? {}, { members: [dora?.id] });
    await stage.change("joined", { members: ["dora"], quotaAllowance: 2 });
    await stage.untilReady("joined");
    expect(inside().group("joined")).toMatchObject({ members: [dora?.id], quota: 2 });
    expect(coderd.deployment.count(/^PATCH .*groups/) - before).toBe(2);
  });

  test("who have just left the organization are named, and do not stop the others", async () => {
    const [eve] = await stage.byHand(() => inside().join(organization(), "eve", "frank"));
    await stage.group("left", "coder", { members: [] });
    await stage.untilReady("left");
    await stage.timePasses(2_000);
    inside().leave(organization(), eve?.id ?? "");
    await stage.change("left", { members: ["eve", "frank"] });
    const synced = await stage.untilCondition("left", "Synced", { reason: "MembersMissing" });
    expect(synced.message).toContain('"eve"');
    expect(inside().namesIn(inside().group("left"))).toEqual(["frank"]);
  });

  test("who have just left the organization do not stop the creation of the group either", async () => {
    const [hugo] = await stage.byHand(() => inside().join(organization(), "hugo"));
    await stage.group("before", "coder", { members: [] });
    await stage.untilReady("before");
    await stage.timePasses(2_000);
    inside().leave(organization(), hugo?.id ?? "");
    await stage.group("created", "coder", { members: ["hugo"] });
    await stage.untilCondition("created", "Synced", { reason: "MembersMissing" });
    expect(await stage.status("created")).toMatchObject({ id: inside().group("created")?.id });
    expect(await stage.eventReasons("created")).not.toContain("ExistsAlready");
  });

  test("that coderd refuses again are not tried a third time", async () => {
    await stage.byHand(() => inside().join(organization(), "gina"));
    await stage.group("refused", "coder", { members: [] });
    await stage.untilReady("refused");
    await stage.timePasses(2_000);
    const fault = { kind: "answer", status: 400, body: { message: "No." } } as const;
    const end = coderd.deployment.faults.inject({ fault, on: /^PATCH .*groups/ });
    const before = coderd.deployment.count(/^PATCH .*groups/);
    await stage.change("refused", { members: ["gina"] });
    await stage.untilCondition("refused", "Synced", { reason: "Rejected" });
    await stage.timePasses(5 * 60_000);
    await stage.untilIdle();
    expect(coderd.deployment.count(/^PATCH .*groups/) - before).toBe(2);
    end();
  });

  test("by the thousand come and go with several requests, each of which coderd answers in time", async () => {
    const names = Array.from({ length: 1_200 }, (_, index) => `person-${index}`);
    await stage.byHand(() => inside().join(organization(), ...names));
    const before = coderd.deployment.count(/^PATCH .*groups/);
    await stage.group("large", "coder", { members: names });
    await stage.untilReady("large");
    expect(inside().group("large")?.members).toHaveLength(1_200);
    expect(coderd.deployment.count(/^PATCH .*groups/) - before).toBe(3);
    await stage.change("large", { members: [], quotaAllowance: 2 });
    await stage.untilReady("large");
    expect(inside().group("large")).toMatchObject({ members: [], quota: 2 });
    expect(coderd.deployment.count(/^PATCH .*groups/) - before).toBe(6);
  });

  test("belong to the identity provider where that is in sync, and all else is still kept", async () => {
    const other = await stage.byHand(() => coderd.deployment.addOrganization("synced"));
    inside().setGroupSync(other.id, { field: "groups", mapping: null, auto_create_missing_groups: false });
    await stage.group("by-idp", "coder", { organizationName: "synced", members: [], quotaAllowance: 2 });
    await stage.untilCondition("by-idp", "Conflict", { reason: "ManagedByIdP" });
    expect(inside().group("by-idp")).toMatchObject({ quota: 2 });
  });
});

test("an organization that does not exist yet is waited for", async () => {
  await stage.group("early", "coder", { organizationName: "later" });
  const { message } = await stage.untilCondition("early", "Synced", { reason: "OrganizationMissing" });
  expect(message).toContain("create it, or create another object for another organization");
  await stage.untilCondition("early", "Reconciling", { status: "True" });
  await stage.byHand(() => coderd.deployment.addOrganization("Later"));
  await stage.untilReady("early");
});
