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

  test("a coderd that goes away in the middle is waited for, and nothing is done twice", async () => {
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

  test("many groups of a coderd that is away cost few requests", async () => {
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
});
