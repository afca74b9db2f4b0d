import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CoderControlPlane, CoderGroup, CoderOrganization } from "../../../src/api/v1alpha1/kinds.ts";
import { type Coderd, type InsideStage, openInsideStage } from "../../support/stages/inside.ts";
import { MemoryWorld } from "../../support/world/memory.ts";

let stage: InsideStage;
beforeAll(async () => {
  stage = await openInsideStage(new MemoryWorld(), "faults");
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const cut = { kind: "cut" } as const;

/** A control plane of its own, with a group. */
async function withGroup(name: string, spec: object = {}): Promise<Coderd> {
  const coderd = await stage.controlPlane(name);
  await stage.group(name, name, spec);
  await stage.untilReady(name);
  return coderd;
}

/** A copy of the object of a group, with the id in its annotation. */
function duplicate(name: string, spec: object, id: string): Promise<unknown> {
  const { apiVersion, kind } = CoderGroup;
  return stage.person.create(CoderGroup, {
    apiVersion,
    kind,
    metadata: { ...stage.ref(name), annotations: { "coder.com/entity-id": id } },
    spec: { controlPlaneRef: { name: "original" }, deletionPolicy: "Delete", ...spec },
  });
}

test("a paused group changes nothing in coderd, and catches up when it is resumed", async () => {
  const coderd = await withGroup("paused", { quotaAllowance: 1 });
  const pause = (value: string | null) =>
    stage.person.mergePatch(CoderGroup, stage.ref("paused"), {
      metadata: { annotations: { "coder.com/paused": value } },
    });
  await pause("true");
  await stage.untilCondition("paused", "Paused", { status: "True" });
  await stage.change("paused", { quotaAllowance: 2 });
  await stage.untilCompared();
  await stage.untilIdle();
  expect(coderd.deployment.inside.group("paused")).toMatchObject({ quota: 1 });
  await pause(null);
  await stage.untilReady("paused");
  expect(coderd.deployment.inside.group("paused")).toMatchObject({ quota: 2 });
});

describe("what coderd can't do now", () => {
  test("a license that ends is named with the feature, and nothing is changed until there is another", async () => {
    const coderd = await stage.controlPlane("unlicensed");
    const { licenses } = coderd.deployment;
    coderd.deployment.licenses = [];
    await stage.group("unlicensed", "unlicensed");
    const { message } = await stage.untilCondition("unlicensed", "Synced", { reason: "NotEntitled" });
    expect(message).toContain("template_rbac");
    await stage.untilCondition("unlicensed", "Stalled", { status: "True" });
    coderd.deployment.licenses = licenses;
    await stage.timePasses(3 * 60_000);
    await stage.untilReady("unlicensed");
  });

  test("a token without rights is reported, and tried again calmly", async () => {
    const coderd = await withGroup("no-rights");
    coderd.accounts.add(coderd.owner, { owner: false });
    await stage.change("no-rights", { quotaAllowance: 3 });
    await stage.eventually(() => expect(coderd.deployment.count(/^PATCH .*groups/)).toBeGreaterThan(0));
    const asked = coderd.deployment.count(/groups/);
    await stage.timePasses(10_000);
    await stage.untilIdle();
    expect(coderd.deployment.count(/groups/) - asked).toBeLessThan(3);
    expect(coderd.deployment.inside.group("no-rights")).toMatchObject({ quota: 0 });
  });

  test("an unreachable coderd is waited for, and nothing is done twice", async () => {
    const coderd = await stage.controlPlane("away");
    const end = coderd.deployment.faults.inject({ fault: cut, on: /^POST .*groups/, afterEffect: true });
    await stage.group("away", "away", { quotaAllowance: 1 });
    await stage.untilCondition("away", "Synced", { reason: "CoderdUnreachable" });
    await stage.untilCondition("away", "Reconciling", { status: "True" });
    end();
    await stage.timePasses(61_000);
    const id = await stage.untilReady("away");
    const made = coderd.deployment.inside.groups.filter(({ name }) => name === "away");
    expect(made).toMatchObject([{ id, quota: 1 }]);
  });

  test("members whose adding got no answer are not added twice", async () => {
    const coderd = await withGroup("unheard");
    const { deployment } = coderd;
    await stage.byHand(() => deployment.inside.join(deployment.organizations[0]?.id ?? "", "ada"));
    deployment.faults.inject({ fault: cut, on: /^PATCH .*groups/, afterEffect: true, times: 1 });
    await stage.change("unheard", { members: ["ada"] });
    await stage.untilCondition("unheard", "Synced", { reason: "CoderdUnreachable" });
    await stage.timePasses(31_000);
    await stage.untilReady("unheard");
    expect(deployment.count(/^PATCH .*groups/)).toBe(1);
    // From now on, answers are shared again.
    await stage.timePasses(61_000);
    await stage.group("unheard-other", "unheard");
    await stage.untilReady("unheard-other");
    const lists = /^GET .*organizations\/[^/]+\/groups$/;
    const asked = deployment.count(lists);
    await stage.timePasses(2_000);
    await stage.change("unheard", { quotaAllowance: 2 });
    await stage.untilReady("unheard");
    expect(deployment.count(lists)).toBe(asked);
  });

  test("a change of the spec that succeeds late does not count as drift", async () => {
    const coderd = await withGroup("late");
    const end = coderd.deployment.faults.inject({ fault: cut, on: /^PATCH .*groups/ });
    await stage.change("late", { quotaAllowance: 3 });
    await stage.untilCondition("late", "Synced", { reason: "CoderdUnreachable" });
    end();
    await stage.timePasses(61_000);
    await stage.untilReady("late");
    expect(coderd.deployment.inside.group("late")).toMatchObject({ quota: 3 });
    expect(await stage.untilEvent("late", "EntityUpdated")).toContain("quotaAllowance of");
    expect(await stage.eventReasons("late")).not.toContain("DriftCorrected");
  });

  test("many groups of an unreachable coderd cause few requests", async () => {
    const coderd = await stage.controlPlane("silent");
    for (let index = 0; index < 20; index++) await stage.group(`silent-${index}`, "silent");
    for (let index = 0; index < 20; index++) await stage.untilReady(`silent-${index}`);
    const end = coderd.deployment.faults.inject({ fault: cut, on: /groups|organizations$|entitlements/ });
    const asked = coderd.deployment.count(/groups/);
    await stage.timePasses(11 * 60_000);
    await stage.untilCondition("silent-0", "Synced", { reason: "CoderdUnreachable" });
    await stage.timePasses(5 * 60_000);
    await stage.untilIdle();
    expect(coderd.deployment.count(/groups/) - asked).toBeLessThan(20);
    end();
  });
});

describe("a deletion", () => {
  test("takes the group with it where the spec says so", async () => {
    const coderd = await withGroup("removed", { deletionPolicy: "Delete" });
    await stage.delete(CoderGroup, "removed");
    await stage.untilGone(CoderGroup, "removed");
    expect(coderd.deployment.inside.group("removed")).toBeUndefined();
  });

  test("leaves the group where the spec does not, without a finalizer", async () => {
    const coderd = await withGroup("retained");
    expect((await stage.get(CoderGroup, "retained")).metadata.finalizers ?? []).toEqual([]);
    await stage.delete(CoderGroup, "retained");
    await stage.untilGone(CoderGroup, "retained");
    expect(coderd.deployment.inside.group("retained")).toBeDefined();
  });

  test("never touches a group that the object did not get", async () => {
    const coderd = await stage.controlPlane("theirs");
    coderd.deployment.inside.addGroup(coderd.deployment.organizations[0]?.id ?? "", "theirs");
    await stage.group("theirs", "theirs", { deletionPolicy: "Delete" });
    await stage.untilCondition("theirs", "Conflict", { reason: "ExistsAlready" });
    await stage.delete(CoderGroup, "theirs");
    await stage.untilGone(CoderGroup, "theirs");
    expect(coderd.deployment.inside.group("theirs")).toBeDefined();
  });

  test("of a duplicate leaves the group to the older object, also where only the annotation has its id", async () => {
    const coderd = await withGroup("original", { deletionPolicy: "Delete" });
    const { id } = await stage.status("original");
    await stage.person.mergePatch(CoderGroup, stage.ref("original"), {
      metadata: { annotations: { "coder.com/paused": "true" } },
    });
    await stage.untilIdle();
    await stage.timePasses(2_000);
    await duplicate("copy", { name: "original" }, `${id}`);
    await stage.untilCondition("copy", "Conflict", { reason: "ClaimedByOlder" });
    await stage.delete(CoderGroup, "copy");
    await stage.untilGone(CoderGroup, "copy");
    expect(coderd.deployment.inside.group("original")).toMatchObject({ id });
    await stage.person.patchStatus(CoderGroup, stage.ref("original"), { status: { id: null } });
    await stage.timePasses(2_000);
    await duplicate("renamed-copy", { name: "another" }, `${id}`);
    await stage.untilCondition("renamed-copy", "Conflict", { reason: "ClaimedByOlder" });
    await stage.delete(CoderGroup, "renamed-copy");
    await stage.untilGone(CoderGroup, "renamed-copy");
    expect(coderd.deployment.inside.group("original")).toMatchObject({ id });
  });

  test("takes along a group whose creation got no answer", async () => {
    const coderd = await withGroup("answered");
    const end = coderd.deployment.faults.inject({ fault: cut, on: /^POST .*groups/, afterEffect: true });
    await stage.group("unanswered", "answered", { deletionPolicy: "Delete" });
    await stage.untilCondition("unanswered", "Synced", { reason: "CoderdUnreachable" });
    expect(coderd.deployment.inside.group("unanswered")).toBeDefined();
    end();
    await stage.delete(CoderGroup, "unanswered");
    await stage.untilGone(CoderGroup, "unanswered");
    expect(coderd.deployment.inside.group("unanswered")).toBeUndefined();
  });

  test("is over after a minute where coderd can't be reached, and says what stays", async () => {
    const coderd = await withGroup("unreachable", { deletionPolicy: "Delete" });
    const left = stage.counters.entitiesLeftBehind;
    const end = coderd.deployment.faults.inject({ fault: cut, on: /^DELETE/ });
    await stage.delete(CoderGroup, "unreachable");
    await stage.eventually(() => expect(coderd.deployment.count(/^DELETE/)).toBeGreaterThan(1));
    await stage.timePasses(61_000);
    await stage.untilGone(CoderGroup, "unreachable");
    expect(stage.counters.entitiesLeftBehind).toBe(left + 1);
    expect(await stage.untilEvent("unreachable", "EntityLeftBehind")).toContain("delete it there");
    end();
  });

  test("waits for nothing once the control plane is being deleted, whose token goes last", async () => {
    const coderd = await withGroup("ending", { deletionPolicy: "Delete" });
    await stage.organization("ending-org", "ending", { deletionPolicy: "Delete" });
    await stage.untilReady("ending-org", CoderOrganization);
    await stage.delete(CoderControlPlane, "ending");
    await stage.delete(CoderGroup, "ending");
    await stage.delete(CoderOrganization, "ending-org");
    await stage.untilGone(CoderGroup, "ending");
    await stage.untilGone(CoderOrganization, "ending-org");
    await stage.untilGone(CoderControlPlane, "ending");
    expect(coderd.deployment.inside.group("ending")).toBeDefined();
  });

  test("leaves the entity in coderd while others hold up the deletion of the control plane", async () => {
    const coderd = await withGroup("held", { deletionPolicy: "Delete" });
    const finalizers = ["example.com/hold"];
    await stage.person.mergePatch(CoderControlPlane, stage.ref("held"), { metadata: { finalizers } });
    await stage.delete(CoderControlPlane, "held");
    await stage.delete(CoderGroup, "held");
    await stage.untilGone(CoderGroup, "held");
    expect(coderd.deployment.inside.group("held")).toBeDefined();
    expect(await stage.untilEvent("held", "EntityLeftBehind")).toContain("is being deleted");
    await stage.person.mergePatch(CoderControlPlane, stage.ref("held"), { metadata: { finalizers: [] } });
  });

  test("leaves an entity that the object no longer manages", async () => {
    const coderd = await withGroup("observed", { deletionPolicy: "Delete" });
    await stage.change("observed", { managementPolicy: "Observe" });
    await stage.untilReady("observed");
    await stage.delete(CoderGroup, "observed");
    await stage.untilGone(CoderGroup, "observed");
    expect(coderd.deployment.inside.group("observed")).toBeDefined();
  });
});
